//! What a session's client is told, kept until it has surely been read: answers to each of its requests in a
//! stream of their own, everything else in stream 0. A client whose connection breaks asks for what came after
//! the last event that it saw.

use crate::line::Line;
use crate::mcp::lines::Exchanges;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How many bytes are kept for a client. What is dropped first is what was answered longest ago.
const MOST_KEPT: usize = 8 * 1024 * 1024;

/// How many streams are kept after their end.
const MOST_ENDED: usize = 64;

/// How many events wait in stream 0.
const MOST_WAITING: usize = 1000;

/// The streams of one client.
pub struct Streams {
    all: Mutex<All>,
    /// Turns with everything that comes.
    changed: watch::Sender<u64>,
}

struct All {
    last: u64,
    streams: BTreeMap<u64, Stream>,
    bytes: usize,
    closed: bool,
}

#[derive(Default)]
struct Stream {
    events: VecDeque<Event>,
    last: u64,
    /// The last one that was handed to a reader.
    read: u64,
    /// Messages that are not done with.
    left: usize,
    /// Only replies are kept: they become one body of JSON.
    replies_only: bool,
    /// Who reads it; an earlier reader has lost it.
    reader: u64,
}

/// One message on its way to a client.
#[derive(Clone)]
pub struct Event {
    /// Its number in its stream.
    pub number: u64,
    /// The message.
    pub message: Vec<Bytes>,
}

/// What a reader finds.
pub struct News {
    /// What came after the last one that it has.
    pub events: Vec<Event>,
    /// Nothing more will come.
    pub ended: bool,
}

impl Default for Streams {
    fn default() -> Streams {
        let streams = BTreeMap::from([(0, Stream { left: 1, ..Stream::default() })]);
        let all = All { last: 0, streams, bytes: 0, closed: false };
        Streams { all: Mutex::new(all), changed: watch::Sender::new(0) }
    }
}

impl Streams {
    /// A stream for the answers to so many messages.
    pub fn open(&self, messages: usize, replies_only: bool) -> u64 {
        let mut all = self.locked();
        all.last += 1;
        let number = all.last;
        all.streams.insert(number, Stream { left: messages, replies_only, ..Stream::default() });
        number
    }

    /// Whether there is such a stream.
    pub fn has(&self, stream: u64) -> bool {
        self.locked().streams.contains_key(&stream)
    }

    /// Starts reading a stream, after an event or after the last one that anybody has read. Whoever read it
    /// before reads no more.
    pub fn reader(&self, stream: u64, after: Option<u64>) -> Option<Reader> {
        let mut all = self.locked();
        let stream_of = all.streams.get_mut(&stream)?;
        stream_of.reader += 1;
        let reader = Reader { stream, reader: stream_of.reader, after: after.unwrap_or(stream_of.read) };
        drop(all);
        self.turn();
        Some(reader)
    }

    /// What is new for a reader.
    pub fn news(&self, reader: &mut Reader) -> News {
        let mut all = self.locked();
        let closed = all.closed;
        let Some(stream) = all.streams.get_mut(&reader.stream).filter(|it| it.reader == reader.reader) else {
            return News { events: Vec::new(), ended: true };
        };
        let new = stream.events.iter().filter(|event| reader.after < event.number);
        let events: Vec<Event> = new.cloned().collect();
        if let Some(last) = events.last() {
            reader.after = last.number;
            stream.read = stream.read.max(last.number);
        }
        let ended = closed || stream.left == 0;
        News { events, ended }
    }

    /// How many messages a stream holds, and whether it has ended.
    pub fn holds(&self, stream: u64) -> Option<(usize, bool)> {
        let all = self.locked();
        let held = all.streams.get(&stream)?;
        Some((held.events.len(), held.left == 0))
    }

    /// Waits for anything to happen, from what was seen of it before.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Forgets a stream.
    pub fn forget(&self, stream: u64) {
        let mut all = self.locked();
        if let Some(stream) = all.streams.remove(&stream) {
            all.bytes -= stream.events.iter().map(Event::len).sum::<usize>();
        }
    }

    /// The client has gone.
    pub fn close(&self) {
        self.locked().closed = true;
        self.turn();
    }

    fn locked(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self) {
        self.changed.send_modify(|turns| *turns += 1);
    }
}

impl Exchanges for Streams {
    fn done(&self, exchange: u64, reply: Option<Line>) {
        let mut all = self.locked();
        if let Some(reply) = reply {
            all.add(exchange, reply);
        }
        if exchange != 0
            && let Some(stream) = all.streams.get_mut(&exchange)
        {
            stream.left = stream.left.saturating_sub(1);
        }
        all.tidy();
        drop(all);
        self.turn();
    }

    fn told(&self, exchange: u64, message: Line) {
        let mut all = self.locked();
        // The way back to where it belongs may be one that takes only replies, or closed.
        let open = |stream: &Stream| !stream.replies_only && 0 < stream.left;
        let place = if all.streams.get(&exchange).is_some_and(open) { exchange } else { 0 };
        all.add(place, message);
        all.tidy();
        drop(all);
        self.turn();
    }
}

impl All {
    fn add(&mut self, stream: u64, message: Line) {
        let Some(stream) = self.streams.get_mut(&stream) else { return };
        stream.last += 1;
        let event = Event { number: stream.last, message: message.into_pieces().collect() };
        self.bytes += event.len();
        stream.events.push_back(event);
    }

    /// Drops what has been kept long enough.
    fn tidy(&mut self) {
        let general = self.streams.entry(0).or_default();
        while MOST_WAITING < general.events.len()
            && let Some(event) = general.events.pop_front()
        {
            self.bytes -= event.len();
        }
        // A stream of changes may stay open for days. What its client has been handed long ago is not kept.
        for stream in self.streams.values_mut().filter(|stream| !stream.replies_only) {
            while MOST_WAITING < stream.events.len()
                && stream.events.front().is_some_and(|event| event.number <= stream.read)
                && let Some(event) = stream.events.pop_front()
            {
                self.bytes -= event.len();
            }
        }
        loop {
            let mut ended =
                self.streams.iter().filter(|(_, stream)| stream.left == 0).map(|(number, _)| *number);
            let (Some(oldest), true) = (ended.next(), MOST_ENDED <= ended.count() || MOST_KEPT < self.bytes)
            else {
                return;
            };
            // What was answered last stays, however large it is: its client may be reading it.
            if oldest == self.last {
                return;
            }
            if let Some(stream) = self.streams.remove(&oldest) {
                self.bytes -= stream.events.iter().map(Event::len).sum::<usize>();
            }
        }
    }
}

impl Event {
    fn len(&self) -> usize {
        self.message.iter().map(Bytes::len).sum()
    }
}

/// Somebody who reads a stream.
pub struct Reader {
    /// Which.
    pub stream: u64,
    reader: u64,
    after: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(news: &News) -> Vec<String> {
        let text = |event: &Event| String::from_utf8(event.message.concat()).unwrap();
        news.events.iter().map(text).collect()
    }

    fn line(text: &str) -> Line {
        Line::from(text.to_owned())
    }

    #[test]
    fn what_came_while_nobody_read_is_read_later() {
        let streams = Streams::default();
        let stream = streams.open(2, false);
        let mut reader = streams.reader(stream, Some(0)).unwrap();
        streams.told(stream, line("half"));
        assert_eq!(texts(&streams.news(&mut reader)), ["half"]);
        streams.done(stream, Some(line("one")));
        streams.done(stream, None);
        let mut again = streams.reader(stream, Some(1)).unwrap();
        let news = streams.news(&mut again);
        assert_eq!((texts(&news), news.ended), (vec!["one".to_owned()], true));
        // From the start, as often as wanted.
        let mut whole = streams.reader(stream, Some(0)).unwrap();
        assert_eq!(texts(&streams.news(&mut whole)), ["half", "one"]);
        assert!(streams.news(&mut again).ended, "the later reader has it");
    }

    #[test]
    fn what_belongs_to_no_request_waits_for_a_reader() {
        let streams = Streams::default();
        streams.told(0, line("a"));
        streams.told(99, line("b"));
        let replies = streams.open(1, true);
        streams.told(replies, line("c"));
        let mut reader = streams.reader(0, None).unwrap();
        let news = streams.news(&mut reader);
        assert_eq!((texts(&news), news.ended), (vec!["a".to_owned(), "b".to_owned(), "c".to_owned()], false));
        streams.close();
        assert!(streams.news(&mut reader).ended);
    }

    #[test]
    fn a_stream_that_stays_open_keeps_little_of_what_was_read() {
        let streams = Streams::default();
        let stream = streams.open(1, false);
        let mut reader = streams.reader(stream, Some(0)).unwrap();
        for _ in 0..3 {
            for _ in 0..MOST_WAITING {
                streams.told(stream, line("change"));
            }
            assert_eq!(texts(&streams.news(&mut reader)).len(), MOST_WAITING);
        }
        streams.told(stream, line("last"));
        assert_eq!(streams.holds(stream), Some((MOST_WAITING, false)));
        assert_eq!(texts(&streams.news(&mut reader)), ["last"]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let streams = Streams::default();
        for _ in 0..200 {
            let stream = streams.open(1, false);
            streams.done(stream, Some(line(&"x".repeat(1024 * 1024))));
        }
        for _ in 0..5000 {
            streams.told(0, line("y"));
        }
        let all = streams.locked();
        assert!(all.bytes <= MOST_KEPT + 1024 * 1024, "{}", all.bytes);
        assert!(all.streams.len() <= MOST_ENDED + 1);
        assert!(all.streams[&0].events.len() <= MOST_WAITING);
        let counted: usize = all.streams.values().flat_map(|it| &it.events).map(Event::len).sum();
        assert_eq!(all.bytes, counted);
    }
}
