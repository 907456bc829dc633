//! What a session's client is told, kept until it has surely been read: answers to each of its requests in a
//! stream of their own, everything else in stream 0. A client whose connection breaks asks for what came after
//! the last event that it saw.
//!
//! What all sessions keep together is bounded too ([`Kept`]). Whose events were dropped finds out: a stream is never
//! read on over a gap without a word.

use crate::line::Line;
use crate::mcp::lines::Exchanges;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::watch;

/// How many bytes are kept for a client. What is dropped first is what was answered longest ago.
const MOST_KEPT: usize = 8 * 1024 * 1024;

/// How many streams are kept after their end.
const MOST_ENDED: usize = 64;

/// How many events wait in stream 0.
const MOST_WAITING: usize = 1000;

/// The streams of one client.
pub struct Streams {
    kept: Arc<Kept>,
    /// Itself, for whoever has to drop events of all sessions.
    own: Weak<Streams>,
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
    pub message: Arc<Message>,
}

/// A message in pieces. It counts until nobody has it any more.
pub struct Message {
    pieces: Vec<Bytes>,
    kept: Option<Arc<Kept>>,
}

impl std::ops::Deref for Message {
    type Target = [Bytes];

    fn deref(&self) -> &[Bytes] {
        &self.pieces
    }
}

impl Message {
    fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if let Some(kept) = &self.kept {
            kept.bytes.fetch_sub(self.len(), Ordering::Relaxed);
            kept.count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// What the events of all sessions weigh together. When that is too much, the oldest go, whosever they are.
pub struct Kept {
    most_bytes: usize,
    most: usize,
    bytes: AtomicUsize,
    count: AtomicUsize,
    order: Mutex<VecDeque<Entry>>,
}

/// Where an event is.
struct Entry {
    streams: Weak<Streams>,
    stream: u64,
    number: u64,
    message: Weak<Message>,
}

impl Kept {
    /// So many bytes of so many events.
    pub fn new(most_bytes: usize, most: usize) -> Arc<Kept> {
        let (bytes, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Kept { most_bytes, most, bytes, count, order: Mutex::default() })
    }

    fn add(
        self: &Arc<Kept>,
        pieces: Vec<Bytes>,
        streams: &Weak<Streams>,
        stream: u64,
        number: u64,
    ) -> Arc<Message> {
        let message = Arc::new(Message { pieces, kept: Some(self.clone()) });
        self.bytes.fetch_add(message.len(), Ordering::Relaxed);
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        // Most events go before their time, with their stream.
        if 2 * count + 1000 < order.len() {
            order.retain(|entry| 0 < entry.message.strong_count());
        }
        let (streams, message_of) = (streams.clone(), Arc::downgrade(&message));
        order.push_back(Entry { streams, stream, number, message: message_of });
        message
    }

    /// Drops the oldest events until the rest is not too much. The newest stays, however large it is. Must not be
    /// called by who has any session's streams locked.
    fn shrink(&self) {
        let too_much = || {
            self.most_bytes < self.bytes.load(Ordering::Relaxed)
                || self.most < self.count.load(Ordering::Relaxed)
        };
        while too_much() {
            let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
            let oldest = if 1 < order.len() { order.pop_front() } else { None };
            drop(order);
            let Some(oldest) = oldest else { return };
            if let Some(streams) = oldest.streams.upgrade().filter(|_| 0 < oldest.message.strong_count()) {
                streams.drop_event(oldest.stream, oldest.number);
            }
        }
    }
}

/// What a reader finds.
pub struct News {
    /// What came after the last one that it has.
    pub events: Vec<Event>,
    /// The first and the last of those in between that are not kept any more.
    pub lost: Option<(u64, u64)>,
    /// Nothing more will come.
    pub ended: bool,
}

impl Streams {
    /// The streams of a new client.
    pub fn new(kept: &Arc<Kept>) -> Arc<Streams> {
        let streams = BTreeMap::from([(0, Stream { left: 1, ..Stream::default() })]);
        let all = All { last: 0, streams, bytes: 0, closed: false };
        let (all, changed) = (Mutex::new(all), watch::Sender::new(0));
        Arc::new_cyclic(|own| Streams { kept: kept.clone(), own: own.clone(), all, changed })
    }

    /// A stream for the answers to so many messages.
    pub fn open(&self, messages: usize, replies_only: bool) -> u64 {
        let mut all = self.locked();
        all.last += 1;
        let number = all.last;
        all.streams.insert(number, Stream { left: messages, replies_only, ..Stream::default() });
        number
    }

    /// Whether there was such an event in a stream, as far as that is known of streams that are gone.
    pub fn has_had(&self, stream: u64, number: u64) -> bool {
        let all = self.locked();
        all.streams.get(&stream).map_or(stream <= all.last, |stream| number <= stream.last)
    }

    /// Whether everything is there that came in a stream after an event.
    pub fn keeps_after(&self, stream: u64, number: u64) -> bool {
        self.locked().streams.get(&stream).is_some_and(|stream| stream.lost_after(number).is_none())
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
            return News { events: Vec::new(), lost: None, ended: true };
        };
        let lost = stream.lost_after(reader.after);
        if let Some((_, last)) = lost {
            reader.after = last;
        }
        let new = stream.events.iter().filter(|event| reader.after < event.number);
        let events: Vec<Event> = new.cloned().collect();
        if let Some(last) = events.last() {
            reader.after = last.number;
            stream.read = stream.read.max(last.number);
        }
        let ended = closed || stream.left == 0;
        News { events, lost, ended }
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

impl Streams {
    /// Keeps a message as an event of a stream.
    fn add(&self, all: &mut All, number: u64, message: Line) {
        let Some(stream) = all.streams.get_mut(&number) else { return };
        stream.last += 1;
        let pieces = message.into_pieces().collect();
        // What becomes one body is read at once, and cannot be asked for again.
        let message = if stream.replies_only {
            Arc::new(Message { pieces, kept: None })
        } else {
            self.kept.add(pieces, &self.own, number, stream.last)
        };
        let event = Event { number: stream.last, message };
        all.bytes += event.len();
        stream.events.push_back(event);
    }

    /// Drops an event, and all that came before it in its stream.
    fn drop_event(&self, stream: u64, number: u64) {
        let mut all = self.locked();
        let Some(stream) = all.streams.get_mut(&stream) else { return };
        let mut bytes = 0;
        while stream.events.front().is_some_and(|event| event.number <= number) {
            bytes += stream.events.pop_front().map_or(0, |event| event.len());
        }
        all.bytes -= bytes;
    }
}

impl Exchanges for Streams {
    fn done(&self, exchange: u64, reply: Option<Line>) {
        let mut all = self.locked();
        if let Some(reply) = reply {
            self.add(&mut all, exchange, reply);
        }
        if exchange != 0
            && let Some(stream) = all.streams.get_mut(&exchange)
        {
            stream.left = stream.left.saturating_sub(1);
        }
        all.tidy();
        drop(all);
        self.kept.shrink();
        self.turn();
    }

    fn told(&self, exchange: u64, message: Line) {
        let mut all = self.locked();
        // The way back to where it belongs may be one that takes only replies, or closed.
        let open = |stream: &Stream| !stream.replies_only && 0 < stream.left;
        let place = if all.streams.get(&exchange).is_some_and(open) { exchange } else { 0 };
        self.add(&mut all, place, message);
        all.tidy();
        drop(all);
        self.kept.shrink();
        self.turn();
    }
}

impl Stream {
    /// The first and the last of those after an event that are not kept any more.
    fn lost_after(&self, number: u64) -> Option<(u64, u64)> {
        let last_lost = self.events.front().map_or(self.last, |first| first.number - 1);
        (number < last_lost).then_some((number + 1, last_lost))
    }
}

impl All {
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
        self.message.len()
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
        let streams = Streams::new(&Kept::new(usize::MAX, usize::MAX));
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
        let streams = Streams::new(&Kept::new(usize::MAX, usize::MAX));
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
        let streams = Streams::new(&Kept::new(usize::MAX, usize::MAX));
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
        let streams = Streams::new(&Kept::new(usize::MAX, usize::MAX));
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

    #[test]
    fn what_all_keep_together_is_bounded_and_the_oldest_goes_first() {
        let kept = Kept::new(10_000, 50);
        let all: Vec<_> = (0..20).map(|_| Streams::new(&kept)).collect();
        let mut firsts = Vec::new();
        for (number, streams) in all.iter().cycle().take(200).enumerate() {
            let stream = streams.open(1, false);
            streams.done(stream, Some(line(&number.to_string())));
            firsts.push((streams, stream));
        }
        let whole: Vec<bool> =
            firsts.iter().map(|(streams, stream)| streams.keeps_after(*stream, 0)).collect();
        assert_eq!(whole, (0..200).map(|number| 150 <= number).collect::<Vec<_>>());
        assert_eq!(kept.count.load(Ordering::Relaxed), 50);
        // One large answer drives out all others, and stays.
        let large = all[0].open(1, false);
        all[0].done(large, Some(line(&"x".repeat(20_000))));
        assert!(all[0].keeps_after(large, 0));
        assert_eq!(kept.count.load(Ordering::Relaxed), 1);
        // What goes with its session counts no more, and leaves nothing behind.
        drop(all);
        assert_eq!((kept.count.load(Ordering::Relaxed), kept.bytes.load(Ordering::Relaxed)), (0, 0));
        let streams = Streams::new(&kept);
        for _ in 0..5000 {
            let stream = streams.open(1, false);
            streams.done(stream, Some(line("y")));
            streams.forget(stream);
        }
        assert!(kept.order.lock().unwrap().len() < 1200);
    }

    #[test]
    fn a_reader_is_told_of_a_gap() {
        let kept = Kept::new(usize::MAX, 3);
        let streams = Streams::new(&kept);
        let mut reader = streams.reader(0, None).unwrap();
        streams.told(0, line("a"));
        assert_eq!(streams.news(&mut reader).lost, None);
        for text in ["b", "c", "d", "e", "f"] {
            streams.told(0, line(text));
        }
        let news = streams.news(&mut reader);
        assert_eq!((news.lost, texts(&news)), (Some((2, 3)), vec!["d".into(), "e".into(), "f".into()]));
        assert_eq!(streams.news(&mut reader).lost, None);
        assert!(streams.keeps_after(0, 3) && !streams.keeps_after(0, 2));
    }
}
