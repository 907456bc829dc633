//! Audio outputs over the native protocol of PulseAudio, which PipeWire speaks too (pipewire-pulse).
//!
//! Every call opens a connection of its own: that costs less than a millisecond, finds a server that came
//! back, and keeps no server from ending itself when nobody uses it. The oldest version of the protocol is
//! spoken that has all of this: newer ones only add what would have to be skipped. Nothing here starts a
//! server.

use crate::atspi::bus::wait;
use async_io::{Async, Timer};
use deskhand_core::audio::{Audio, AudioOutput, no_such_output};
use deskhand_core::{Call, Code, Error, Result};
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use pulseaudio::protocol::{
    self, AuthParams, AuthReply, ChannelVolume, Command, CommandReply, DEFAULT_SINK, DESCRIPTOR_SIZE,
    GetSinkInfo, MIN_VERSION, Prop, Props, ProtocolError, PulseError, ServerInfo, SetClientNameReply,
    SetDeviceMuteParams, SetDeviceVolumeParams, SinkInfo, SinkInfoList, TagStructRead, TagStructReader,
    Volume,
};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, UCred, sendmsg};
use rustix::process::{getgid, getpid, getuid};
use std::ffi::CString;
use std::io::{self, Cursor, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// The audio server of the session.
pub struct PulseAudio {
    server: Server,
}

/// Where the audio server listens, and how it knows us.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Sockets to try, the first that is there counts.
    pub sockets: Vec<PathBuf>,
    /// The file with the cookie, for the server of another user.
    pub cookie: Option<PathBuf>,
    /// A server that was named and cannot be reached from here: over a network.
    pub remote: Option<String>,
}

impl Server {
    /// The server that programs of this process's environment use.
    pub fn from_environment() -> Server {
        Server::of(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Server {
        let home = variable("HOME").map(PathBuf::from);
        let config = variable("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| home.as_ref().map(|home| home.join(".config")));
        let cookies = [
            variable("PULSE_COOKIE").map(PathBuf::from),
            config.map(|config| config.join("pulse/cookie")),
            home.map(|home| home.join(".pulse-cookie")),
        ];
        let cookie = cookies.into_iter().flatten().find(|path| path.exists());
        if let Some(named) = variable("PULSE_SERVER") {
            // A list; each entry may say in braces which machine it holds for.
            let entries = named.split_whitespace().map(|entry| match entry.split_once('}') {
                Some((machine, rest)) if machine.starts_with('{') => rest,
                _ => entry,
            });
            let (sockets, others): (Vec<&str>, Vec<&str>) = entries
                .map(|entry| entry.strip_prefix("unix:").unwrap_or(entry))
                .partition(|path| path.starts_with('/'));
            let remote = others.first().map(|entry| (*entry).to_owned());
            return Server { sockets: sockets.into_iter().map(PathBuf::from).collect(), cookie, remote };
        }
        let sockets = [
            variable("PULSE_RUNTIME_PATH").map(|folder| PathBuf::from(folder).join("native")),
            variable("XDG_RUNTIME_DIR").map(|folder| PathBuf::from(folder).join("pulse/native")),
        ];
        // A server for the whole system is left out: it belongs to no session.
        Server { sockets: sockets.into_iter().flatten().collect(), cookie, remote: None }
    }

    /// Where it listens, for messages.
    fn place(&self) -> String {
        let there = self.sockets.iter().find(|path| path.exists()).or(self.sockets.first());
        there.map_or_else(|| "an unknown place".to_owned(), |path| path.display().to_string())
    }
}

impl PulseAudio {
    /// The server that listens there. Nothing is connected yet.
    pub fn new(server: Server) -> PulseAudio {
        PulseAudio { server }
    }

    /// One conversation: connected, introduced, asked, hung up.
    fn talk<T>(
        &self,
        call: &Call,
        doing: &str,
        ask: impl AsyncFnOnce(&mut Talk) -> Result<T, Trouble>,
    ) -> Result<T> {
        let talking = async {
            let mut talk = Talk::open(&self.server).await.map_err(|error| self.absent(error))?;
            let answer = match talk.introduce(&self.server).await {
                Ok(()) => ask(&mut talk).await,
                Err(trouble) => Err(trouble),
            };
            answer.map_err(|trouble| self.failed(doing, trouble))
        };
        wait(call, doing, talking).map_err(|error| match error.code {
            Code::Timeout => Error::new(
                Code::Timeout,
                format!("The audio server at {} did not answer in time while {doing}.", self.server.place()),
            )
            .remedy(
                "Restart it (`systemctl --user restart pipewire-pulse`, or `pulseaudio --kill` and \
                 `pulseaudio --start`); the next call finds the new one.",
            ),
            _ => error,
        })
    }

    fn absent(&self, error: io::Error) -> Error {
        let message = match &self.server.remote {
            Some(remote) if self.server.sockets.is_empty() => {
                format!(
                    "PULSE_SERVER names {remote:?}, and only audio servers of this machine can be reached."
                )
            }
            None if self.server.sockets.is_empty() => {
                "No audio server is known: neither PULSE_SERVER nor XDG_RUNTIME_DIR is set.".to_owned()
            }
            _ => format!("No audio server runs: nobody listens at {}.", self.server.place()),
        };
        Error::backend(message).because(error).remedy(
            "Start one (`systemctl --user start pipewire-pulse`, or `pulseaudio --start`), or install the \
             package pipewire-pulse or pulseaudio. The next call finds it.",
        )
    }

    fn failed(&self, doing: &str, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Said(error) => error,
            Trouble::Refused(PulseError::AccessDenied) => Error::new(
                Code::PermissionDenied,
                "The audio server does not let this user in.",
            )
            .remedy(
                "Run Deskhand as the user whose session it is, or set PULSE_COOKIE to that user's cookie.",
            ),
            Trouble::Refused(refusal) => {
                Error::backend(format!("The audio server refused, while {doing}.")).os(refusal)
            }
            Trouble::Lost(error) => Error::backend(format!(
                "The audio server at {} went away while {doing}.",
                self.server.place()
            ))
            .because(error)
            .remedy("The next call connects again, as soon as the server is back."),
            Trouble::Nonsense(error) => Error::backend(format!(
                "What listens at {} does not speak the protocol of PulseAudio.",
                self.server.place()
            ))
            .because(error),
        }
    }
}

impl Audio for PulseAudio {
    fn outputs(&self, call: &Call) -> Result<Vec<AudioOutput>> {
        self.talk(call, "listing the audio outputs", all)
    }

    fn default_output(&self, call: &Call) -> Result<AudioOutput> {
        self.talk(call, "asking for the default audio output", async |talk| {
            let sink = talk.sink(None).await?.ok_or_else(|| Trouble::Said(no_output()))?;
            Ok(output(&sink, true))
        })
    }

    fn set_volume(&self, call: &Call, name: &str, percent: u32) -> Result<()> {
        self.talk(call, "setting the volume", async |talk| {
            let Some(sink) = talk.sink(Some(name)).await? else { return Err(missing(talk, name).await) };
            let volume = scaled(&sink.cvolume, percent);
            let device = SetDeviceVolumeParams { device_index: Some(sink.index), device_name: None, volume };
            talk.tell(&Command::SetSinkVolume(device)).await
        })
    }

    fn set_muted(&self, call: &Call, name: &str, muted: bool) -> Result<()> {
        self.talk(call, "muting", async |talk| {
            let Some(sink) = talk.sink(Some(name)).await? else { return Err(missing(talk, name).await) };
            let device =
                SetDeviceMuteParams { device_index: Some(sink.index), device_name: None, mute: muted };
            talk.tell(&Command::SetSinkMute(device)).await
        })
    }

    fn set_default(&self, call: &Call, name: &str) -> Result<()> {
        self.talk(call, "choosing the default audio output", async |talk| {
            let Some(sink) = talk.sink(Some(name)).await? else { return Err(missing(talk, name).await) };
            talk.tell(&Command::SetDefaultSink(sink.name)).await
        })
    }
}

async fn all(talk: &mut Talk) -> Result<Vec<AudioOutput>, Trouble> {
    let server: ServerInfo = talk.ask(&Command::GetServerInfo).await?;
    let sinks: SinkInfoList = talk.ask(&Command::GetSinkInfoList).await?;
    Ok(sinks.iter().map(|sink| output(sink, server.default_sink_name.as_ref() == Some(&sink.name))).collect())
}

async fn missing(talk: &mut Talk, name: &str) -> Trouble {
    match all(talk).await {
        Ok(all) => Trouble::Said(no_such_output(name, &all)),
        Err(trouble) => trouble,
    }
}

fn no_output() -> Error {
    Error::backend("The audio server has no output.")
        .remedy("Plug one in, or make a virtual one: `pactl load-module module-null-sink`.")
}

fn output(sink: &SinkInfo, default: bool) -> AudioOutput {
    let name = sink.name.to_string_lossy().into_owned();
    let description = sink.description.as_ref().map(|text| text.to_string_lossy().into_owned());
    AudioOutput {
        description: description.filter(|text| !text.is_empty()).unwrap_or_else(|| name.clone()),
        name,
        volume: percent(loudest(&sink.cvolume)),
        muted: sink.muted,
        default,
    }
}

fn loudest(volume: &ChannelVolume) -> u32 {
    volume.channels().iter().map(Volume::as_u32).max().unwrap_or(0)
}

fn percent(raw: u32) -> u32 {
    let full = u64::from(Volume::NORM.as_u32());
    u32::try_from((u64::from(raw) * 100 + full / 2) / full).unwrap_or(u32::MAX)
}

/// The same balance with the loudest channel at `percent`. Silence has no balance: then all are alike.
fn scaled(volume: &ChannelVolume, percent: u32) -> ChannelVolume {
    let wanted = (u64::from(Volume::NORM.as_u32()) * u64::from(percent) + 50) / 100;
    let loudest = u64::from(loudest(volume));
    let mut scaled = ChannelVolume::empty();
    for channel in volume.channels() {
        let raw = match loudest {
            0 => wanted,
            loudest => (u64::from(channel.as_u32()) * wanted + loudest / 2) / loudest,
        };
        scaled.push(Volume::from_u32_clamped(u32::try_from(raw).unwrap_or(u32::MAX)));
    }
    scaled
}

/// Why a conversation came to nothing.
enum Trouble {
    /// The error is made already.
    Said(Error),
    /// The server said no.
    Refused(PulseError),
    /// The connection broke.
    Lost(io::Error),
    /// What came is no message.
    Nonsense(ProtocolError),
}

/// The longest message that is taken: a list of outputs has some kilobytes for each.
const LONGEST: u32 = 4 << 20;

/// A connection to the server.
struct Talk {
    socket: Async<UnixStream>,
    sequence: u32,
    /// Send the next message with the credentials of this process.
    show_credentials: bool,
}

impl Talk {
    async fn open(server: &Server) -> io::Result<Talk> {
        let mut why = io::Error::new(ErrorKind::NotFound, "no socket is known");
        for path in &server.sockets {
            loop {
                match Async::<UnixStream>::connect(path).await {
                    Ok(socket) => return Ok(Talk { socket, sequence: 0, show_credentials: false }),
                    // A server that hangs takes no more connections; it may wake while there is time.
                    Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
                        Timer::after(Duration::from_millis(20)).await;
                    }
                    Err(error) => {
                        why = error;
                        break;
                    }
                }
            }
        }
        Err(why)
    }

    async fn introduce(&mut self, server: &Server) -> Result<(), Trouble> {
        // On a socket of this machine the server sees who we are; the cookie is for another user's.
        let cookie = server.cookie.as_ref().and_then(|path| std::fs::read(path).ok());
        let cookie = cookie.filter(|cookie| cookie.len() == COOKIE).unwrap_or_else(|| vec![0; COOKIE]);
        let auth = AuthParams { version: MIN_VERSION, supports_shm: false, supports_memfd: false, cookie };
        self.show_credentials = true;
        let _: AuthReply = self.ask(&Command::Auth(auth)).await?;
        let mut properties = Props::new();
        properties.set(Prop::ApplicationName, c"Deskhand");
        let _: SetClientNameReply = self.ask(&Command::SetClientName(properties)).await?;
        Ok(())
    }

    /// The output of this name, or the default one.
    async fn sink(&mut self, name: Option<&str>) -> Result<Option<SinkInfo>, Trouble> {
        let Ok(name) = name.map_or(Ok(DEFAULT_SINK.to_owned()), CString::new) else { return Ok(None) };
        match self.ask(&Command::GetSinkInfo(GetSinkInfo { index: None, name: Some(name) })).await {
            Ok(sink) => Ok(Some(sink)),
            // PulseAudio finds a name that is no name at all invalid.
            Err(Trouble::Refused(PulseError::NoEntity | PulseError::Invalid)) => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Asks for something that is answered with data.
    async fn ask<R: CommandReply + TagStructRead>(&mut self, command: &Command) -> Result<R, Trouble> {
        let answer = self.exchange(command).await?;
        let mut rest = Cursor::new(answer);
        R::read(&mut TagStructReader::new(&mut rest, MIN_VERSION), MIN_VERSION).map_err(Trouble::Nonsense)
    }

    /// Asks for something that is only acknowledged.
    async fn tell(&mut self, command: &Command) -> Result<(), Trouble> {
        self.exchange(command).await.map(drop)
    }

    /// Sends a command and gives what its answer holds.
    async fn exchange(&mut self, command: &Command) -> Result<Vec<u8>, Trouble> {
        self.sequence += 1;
        let mut message = Vec::new();
        protocol::write_command_message(&mut message, self.sequence, command, MIN_VERSION)
            .map_err(Trouble::Nonsense)?;
        let mut sent = 0;
        if std::mem::take(&mut self.show_credentials) {
            sent = self
                .socket
                .write_with(|socket| with_credentials(socket, &message))
                .await
                .map_err(Trouble::Lost)?;
        }
        self.socket.write_all(&message[sent..]).await.map_err(Trouble::Lost)?;
        loop {
            let mut message = Cursor::new(self.message().await?);
            let (sequence, command) = match Command::read_tag_prefixed(&mut message, MIN_VERSION) {
                Ok(read) => read,
                // Something that the server tells of its own accord.
                Err(ProtocolError::Unimplemented(..)) => continue,
                Err(error) => return Err(Trouble::Nonsense(error)),
            };
            if sequence != self.sequence {
                continue;
            }
            match command {
                Command::Error(error) => return Err(Trouble::Refused(error)),
                Command::Reply => {
                    let start = usize::try_from(message.position()).unwrap_or(usize::MAX);
                    return Ok(message.into_inner().split_off(start));
                }
                _ => {}
            }
        }
    }

    /// The next message that is not audio.
    async fn message(&mut self) -> Result<Vec<u8>, Trouble> {
        loop {
            let mut head = [0; DESCRIPTOR_SIZE];
            self.socket.read_exact(&mut head).await.map_err(Trouble::Lost)?;
            let head = protocol::read_descriptor(&mut head.as_slice()).map_err(Trouble::Nonsense)?;
            if LONGEST < head.length {
                let told = format!("a message of {} bytes", head.length);
                return Err(Trouble::Nonsense(ProtocolError::Invalid(told)));
            }
            let mut payload = vec![0; head.length as usize];
            self.socket.read_exact(&mut payload).await.map_err(Trouble::Lost)?;
            if head.channel == u32::MAX {
                return Ok(payload);
            }
        }
    }
}

/// Sends with the credentials of this process, by which PulseAudio lets the user's own programs in. The
/// system adds them by itself only where the server asked for them before it was written to: a race.
fn with_credentials(socket: &UnixStream, message: &[u8]) -> io::Result<usize> {
    let credentials = UCred { pid: getpid(), uid: getuid(), gid: getgid() };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmCredentials(credentials));
    Ok(sendmsg(socket, &[IoSlice::new(message)], &mut beside, SendFlags::NOSIGNAL)?)
}

/// The length of a cookie.
const COOKIE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Server {
        Server::of(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_server_is_found_where_its_own_clients_look() {
        let paths = |server: Server| {
            server.sockets.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(paths(of(&[("XDG_RUNTIME_DIR", "/run/u")])), "/run/u/pulse/native");
        let both = of(&[("XDG_RUNTIME_DIR", "/run/u"), ("PULSE_RUNTIME_PATH", "/p")]);
        assert_eq!(paths(both), "/p/native /run/u/pulse/native");
        let named = of(&[("XDG_RUNTIME_DIR", "/run/u"), ("PULSE_SERVER", "{0a1b}unix:/a tcp:host /b")]);
        assert_eq!(named.remote.as_deref(), Some("tcp:host"));
        assert_eq!(paths(named), "/a /b");
        assert_eq!(paths(of(&[])), "");
    }

    #[test]
    fn volumes_keep_their_balance_and_read_back_as_they_were_set() {
        let mut half_left = ChannelVolume::empty();
        for raw in [20_000, 40_000] {
            half_left.push(Volume::from_u32_clamped(raw));
        }
        for wanted in 0..=100 {
            let set = scaled(&half_left, wanted);
            assert_eq!(percent(loudest(&set)), wanted);
            let [left, right] = set.channels() else { panic!("{set:?}") };
            assert!((left.as_u32() * 2).abs_diff(right.as_u32()) <= 1, "{set:?}");
        }
        let loud = scaled(&ChannelVolume::muted(2), 30);
        assert_eq!(
            loud.channels().iter().map(|volume| percent(volume.as_u32())).collect::<Vec<_>>(),
            [30, 30]
        );
    }
}
