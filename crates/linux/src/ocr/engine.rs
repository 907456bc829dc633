//! The processes of Tesseract: one for each core, each with a share of the lines.

use super::Seen;
use super::lines::Line;
use super::page::{self, Page};
use deskhand_core::{Call, Error, Rect, Result};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// A process takes 0.1 s to start: fewer pixels of width than this are not worth another one.
const LEAST_SHARE: usize = 6000;
const MOST_PROCESSES: usize = 8;

/// The languages that are installed.
pub(super) fn languages(call: &Call, program: &Path) -> Result<Vec<String>> {
    let (status, output) = run(call, Command::new(program).arg("--list-langs"), Vec::new())?;
    if !status.success() {
        return Err(failed(status, &output.errors));
    }
    let text = String::from_utf8_lossy(&output.text).into_owned();
    let names = text.lines().skip(1).map(str::trim).filter(|name| !name.is_empty() && *name != "osd");
    Ok(names.map(str::to_owned).collect())
}

/// The words of the lines with these indexes, in their order.
pub(super) fn read(
    call: &Call,
    program: &Path,
    languages: &str,
    lines: &[Line],
    wanted: &[usize],
) -> Result<Vec<Vec<Seen>>> {
    let shares = shares(lines, wanted);
    let work = |share: &[usize]| read_share(call, program, languages, lines, share);
    let read: Vec<Result<Vec<Vec<Seen>>>> = std::thread::scope(|scope| {
        let Some((own, others)) = shares.split_first() else { return Vec::new() };
        let others: Vec<_> = others.iter().map(|share| scope.spawn(move || work(share))).collect();
        let mut all = vec![work(own)];
        let lost = || Err(Error::backend("A thread that waited for Tesseract panicked."));
        all.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|_| lost())));
        all
    });
    let mut words: Vec<(usize, Vec<Seen>)> = Vec::with_capacity(wanted.len());
    for (share, read) in shares.iter().zip(read) {
        words.extend(share.iter().copied().zip(read?));
    }
    words.sort_unstable_by_key(|(index, _)| *index);
    Ok(words.into_iter().map(|(_, words)| words).collect())
}

/// Divides lines so that each share takes about the same time, which goes by what they are wide when their
/// height is the same.
fn shares(lines: &[Line], wanted: &[usize]) -> Vec<Vec<usize>> {
    let cost = |index: &usize| {
        let bounds = lines[*index].bounds;
        (bounds.width as usize + 40) * 32 / (bounds.height as usize).clamp(8, 64)
    };
    let all: usize = wanted.iter().map(cost).sum();
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_PROCESSES);
    let count = (all / LEAST_SHARE).clamp(1, cores);
    let mut shares = vec![(0, Vec::new()); count];
    let mut order = wanted.to_vec();
    order.sort_by_cached_key(|index| std::cmp::Reverse(cost(index)));
    for index in order {
        if let Some(least) = shares.iter_mut().min_by_key(|(cost, _)| *cost) {
            least.0 += cost(&index);
            least.1.push(index);
        }
    }
    shares.into_iter().map(|(_, share)| share).filter(|share| !share.is_empty()).collect()
}

fn read_share(
    call: &Call,
    program: &Path,
    languages: &str,
    lines: &[Line],
    share: &[usize],
) -> Result<Vec<Vec<Seen>>> {
    let pages: Vec<Page> = share.iter().map(|index| Page::of(&lines[*index])).collect();
    let mut command = Command::new(program);
    command
        .args(["stdin", "stdout", "--psm", "7", "--dpi", "300", "-l", languages])
        // All is dark on light by now, and each line is on a page of its own.
        .args(["-c", "tessedit_do_invert=0", "-c", "tessedit_create_tsv=1"])
        // More threads than processes cost time and gain nothing.
        .env("OMP_THREAD_LIMIT", "1");
    let (status, output) = run(call, &mut command, page::tiff(&pages))?;
    if !status.success() {
        return Err(failed(status, &output.errors));
    }
    let mut words = vec![Vec::new(); pages.len()];
    for row in String::from_utf8_lossy(&output.text).lines() {
        if let Some((page, seen)) = word(row, &pages)
            && let Some(words) = words.get_mut(page)
        {
            words.push(seen);
        }
    }
    Ok(words)
}

/// A row of the table: level, page, block, paragraph, line, word, left, top, width, height, confidence, text.
fn word(row: &str, pages: &[Page]) -> Option<(usize, Seen)> {
    let fields: Vec<&str> = row.splitn(12, '\t').collect();
    let [level, page, .., left, top, width, height, confidence, text] = fields[..] else { return None };
    let text = text.trim();
    if level != "5" || text.is_empty() {
        return None;
    }
    let index = page.parse::<usize>().ok()?.checked_sub(1)?;
    let page = pages.get(index)?;
    let number = |text: &str| text.parse::<f32>().ok();
    let (left, top, width, height) = (number(left)?, number(top)?, number(width)?, number(height)?);
    let (x, y) = (page.to_line(left).max(0), page.to_line(top).max(0));
    let size = |from: i32, to: f32| u32::try_from(page.to_line(to) - from).unwrap_or(0).max(1);
    let bounds = Rect::new(x, y, size(x, left + width), size(y, top + height));
    let confidence = number(confidence)?.clamp(0.0, 100.0).round() as u8;
    Some((index, Seen { text: text.to_owned(), bounds, confidence }))
}

struct Output {
    text: Vec<u8>,
    errors: Vec<u8>,
}

/// A process that does not outlive the call.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program to its end with this input.
fn run(call: &Call, command: &mut Command, input: Vec<u8>) -> Result<(ExitStatus, Output)> {
    call.check("starting Tesseract")?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map(Running).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Error::backend("Reading text from pixels needs Tesseract, which is not installed.")
                .remedy("Install it: apt install tesseract-ocr tesseract-ocr-eng")
        }
        _ => Error::backend("Tesseract could not be started.").because(error),
    })?;
    let streams = (child.0.stdin.take(), child.0.stdout.take(), child.0.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = streams else {
        return Err(Error::backend("Tesseract has no streams."));
    };
    std::thread::scope(|scope| {
        // A program that ends early does not take all of it: its status tells why.
        scope.spawn(move || drop(stdin.write_all(&input)));
        let text = scope.spawn(move || all(stdout));
        let errors = scope.spawn(move || all(stderr));
        let status = call.until("Tesseract was reading", || {
            child
                .0
                .try_wait()
                .map_err(|error| Error::backend("Tesseract cannot be waited for.").because(error))
        });
        // When the time is up, the streams end with the process.
        let status = status.inspect_err(|_| drop(child.0.kill()));
        let joined = |stream: std::thread::ScopedJoinHandle<'_, Vec<u8>>| stream.join().unwrap_or_default();
        let output = Output { text: joined(text), errors: joined(errors) };
        Ok((status?, output))
    })
}

fn all(mut stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What was read until then is what there is.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

fn failed(status: ExitStatus, errors: &[u8]) -> Error {
    let errors = String::from_utf8_lossy(errors);
    let said: String =
        errors.lines().filter(|line| !line.starts_with("Page ")).take(5).collect::<Vec<_>>().join("; ");
    Error::backend(format!("Tesseract failed ({status}).")).os(said).remedy(
        "Try again; if it stays so, reinstall it: apt install --reinstall tesseract-ocr tesseract-ocr-eng",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn line(width: u32, height: u32) -> Line {
        Line { bounds: Rect::new(0, 0, width, height), ink: vec![255; (width * height) as usize] }
    }

    #[test]
    fn shares_are_even_and_hold_every_line_once() {
        let lines: Vec<Line> = (1..200).map(|n| line(n * 7 % 600 + 1, 10)).collect();
        let wanted: Vec<usize> = (0..lines.len()).collect();
        let mut all: Vec<usize> = shares(&lines, &wanted).concat();
        all.sort_unstable();
        assert_eq!(all, wanted);
        assert!(shares(&lines, &[]).is_empty());
        assert_eq!(shares(&lines, &[3]), [[3]]);
    }

    #[test]
    fn boxes_come_back_from_the_enlarged_page() {
        let pages = [Page::of(&line(100, 16))];
        // Twice as large, with 4 pixels of margin before.
        let (index, seen) = word("5\t1\t1\t1\t1\t1\t28\t8\t40\t32\t91.6\tword", &pages).unwrap();
        assert_eq!((index, seen.bounds, seen.confidence), (0, Rect::new(10, 0, 20, 16), 92));
        assert_eq!(word("4\t1\t1\t1\t1\t0\t28\t8\t40\t32\t-1\t", &pages), None);
        assert_eq!(word("5\t7\t1\t1\t1\t1\t28\t8\t40\t32\t91\tword", &pages), None);
    }

    #[test]
    fn an_absent_engine_gives_the_line_that_installs_it() {
        let call = Call::with_timeout(Duration::from_secs(5));
        let error = languages(&call, Path::new("/nowhere/tesseract")).unwrap_err();
        assert!(
            error.detail.remedy.as_ref().is_some_and(|remedy| remedy.contains("apt install")),
            "{error:?}"
        );
    }

    #[test]
    fn a_hung_engine_costs_the_deadline_and_nothing_more() {
        let call = Call::with_timeout(Duration::from_millis(50));
        let error = run(&call, Command::new("sleep").arg("60"), vec![0; 1 << 20]).map(drop).unwrap_err();
        assert_eq!(error.code, deskhand_core::Code::Timeout);
    }
}
