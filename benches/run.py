"""Starts a private desktop for each section, gathers the rows and writes them as a table to RESULTS.md.

usage: run.py [SECTION…]   pictures elements acting steps starting services observing doors; all by default
"""

import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PROGRAM = os.environ.get("BENCH_DESKHAND", str(HERE.parent / "target/release/deskhand"))
SIZES = {"pictures": ["1280x800", "1920x1080", "3840x2160"], "services": ["1920x1080"]}
ABOUT = {
    "pictures": "Screenshots, from the request to the whole reply line",
    "elements": "Reading elements",
    "snapshots": "Size of the default reading",
    "acting": "Clicking",
    "typing": "Typing",
    "steps": "Several calls in one",
    "starting": "Start, memory, lists",
    "services": "What a session offers beside its windows",
    "observing": "Observing: what it costs, and how soon a change is told",
    "doors": "Doors: a trivial call over stdio and HTTP, many clients, and what is left of many calls",
}


def main(sections):
    rows, notes, failed = [], [], []
    for section in sections:
        for size in SIZES.get(section, ["1280x800"]):
            print(f"\n== {section}, {size}", flush=True)
            with tempfile.NamedTemporaryFile(suffix=".json") as out:
                command = [PROGRAM, "desktop", "--size", size, "--", sys.executable, str(HERE / "inside.py"), section, out.name]
                if subprocess.run(command).returncode:
                    failed.append(f"{section} at {size}")
                    continue
                found = json.loads(pathlib.Path(out.name).read_text(encoding="utf-8"))
            rows += found["rows"]
            notes += [note for note in found["notes"] if note not in notes]
    text = table(rows, notes, failed)
    print("\n" + text)
    if sections == list(SECTIONS):
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")
        print(f"written to {HERE / 'RESULTS.md'}")
    return 1 if failed else 0


def machine():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} cores ({model}), no GPU, {platform.system()} {platform.machine()}"


def table(rows, notes, failed):
    runs = os.environ.get("BENCH_RUNS", "20")
    lines = [
        "# Results",
        "",
        f"Made by `./bench` on {datetime.date.today()}; {machine()}. Load of the machine at the end: "
        f"{os.getloadavg()[0]:.1f}. Medians of {runs} runs or more (7 where one takes more than 0.7 s), the "
        "servers in turns on the same private desktop, by the same client. Read the ratios: milliseconds depend "
        "on the machine and on what else it does. In brackets: how many times Deskhand's value that is.",
    ]
    for section, title in ABOUT.items():
        own = [row for row in rows if row["section"] == section]
        if not own:
            continue
        lines += ["", f"## {title}", "", "| what | Deskhand | others | goal | |", "|---|---:|---|---|---|"]
        for row in own:
            lines.append("| " + " | ".join(cells(row)) + " |")
    if notes or failed:
        lines += ["", "## Not measured, and other notes", ""]
        lines += [f"- {' '.join(note.split()).replace('|', ' ')}" for note in notes]
        lines += [f"- The section {what} failed." for what in failed]
    return "\n".join(lines) + "\n"


def cells(row):
    others = "<br>".join(f"{name} {number(value)}{times(value, row['ours'])}" for name, value in row["others"])
    verdict = {True: "holds", False: "**missed**", None: ""}[row["holds"]]
    return [row["what"], f"{number(row['ours'])} {row['unit']}", others, row["goal"].replace("<=", "≤").replace(">=", "≥"), verdict]


def times(value, ours):
    return f" ({value / ours:.1f}x)" if 0 < ours else ""


def number(value):
    return f"{value:.0f}" if 100 <= abs(value) else f"{value:.1f}" if 10 <= abs(value) else f"{value:.2f}"


SECTIONS = ("pictures", "elements", "acting", "steps", "starting", "services", "observing", "doors")

if __name__ == "__main__":
    unknown = [name for name in sys.argv[1:] if name not in SECTIONS]
    if unknown:
        raise SystemExit(f"There is no section {unknown[0]!r}. There are: {', '.join(SECTIONS)}.")
    raise SystemExit(main(sys.argv[1:] or list(SECTIONS)))
