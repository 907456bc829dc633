//! What an application's cache says of its elements: everything but extents, values and actions, in one
//! answer.

use super::bus::{App, Fault, Ref, Toolkit};
use super::roles::{self, Bits, Offers};
use super::tree::{Raw, is_own};
use atspi_common::State as SpiState;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use zbus::zvariant::Type;

#[derive(Deserialize, Type)]
struct Item<'m> {
    #[serde(borrow)]
    object: Ref<'m>,
    #[serde(borrow)]
    _application: Ref<'m>,
    #[serde(borrow)]
    parent: Ref<'m>,
    index: i32,
    children: i32,
    offers: Offers,
    name: &'m str,
    role: u32,
    description: &'m str,
    bits: Bits,
}

/// The item of Qt 5 and of at-spi2 before 2.34: all children named, no index.
#[derive(Deserialize, Type)]
struct OldItem<'m> {
    #[serde(borrow)]
    object: Ref<'m>,
    #[serde(borrow)]
    _application: Ref<'m>,
    #[serde(borrow)]
    parent: Ref<'m>,
    #[serde(borrow)]
    children: Vec<Ref<'m>>,
    offers: Offers,
    name: &'m str,
    role: u32,
    description: &'m str,
    bits: Bits,
}

/// What the application's cache holds; nothing when it declares none.
pub async fn cached(app: &App, patience: Duration) -> Result<Vec<Raw>, Fault> {
    let cold = app.toolkit == Toolkit::Chromium && !app.warm.load(Ordering::Relaxed);
    let nodes = get_items(app).await?;
    if !cold {
        return Ok(nodes);
    }
    // Chromium begins to build its tree when it is first asked, page by page in other processes: wait
    // until its pages have content and nothing more comes.
    let give_up = Instant::now() + patience;
    let mut last = nodes;
    let mut calm = 0;
    loop {
        async_io::Timer::after(Duration::from_millis(40)).await;
        let next = get_items(app).await?;
        calm = if next.len() == last.len() { calm + 1 } else { 0 };
        let filled = is_filled(&next);
        last = next;
        // A page may be empty for good: what has not moved for a second is taken for that.
        if 2 <= calm && filled || 25 <= calm && !last.is_empty() {
            app.warm.store(true, Ordering::Relaxed);
            return Ok(last);
        }
        if give_up <= Instant::now() {
            return Ok(last);
        }
    }
}

/// Whether a page has content. Chromium also keeps empty pages at hand for lists that are not open.
fn is_filled(nodes: &[Raw]) -> bool {
    let pages = || nodes.iter().filter(|raw| roles::is_page(raw.role));
    pages().any(|page| page.declared > 0) && !pages().any(|page| page.bits.has(SpiState::Busy))
}

async fn get_items(app: &App) -> Result<Vec<Raw>, Fault> {
    let cache = "/org/a11y/atspi/cache";
    let reply = match app.ask(cache, "org.a11y.atspi.Cache", "GetItems", &()).await {
        Ok(reply) => reply,
        Err(Fault::Lost(error)) => return Err(Fault::Lost(error)),
        // No cache is declared: the tree is walked. An application that has gone says so at the next
        // question.
        Err(Fault::Gone(_) | Fault::Absent(_) | Fault::Refused(_)) => return Ok(Vec::new()),
    };
    let body = reply.body();
    if let Ok(items) = body.deserialize::<Vec<Item<'_>>>() {
        return Ok(arranged(app, items.iter()));
    }
    match body.deserialize::<Vec<OldItem<'_>>>() {
        Ok(items) => Ok(arranged_by_children(app, &items)),
        Err(error) => Err(Fault::Refused(format!("its cache speaks another language: {error}"))),
    }
}

fn arranged<'i, 'm: 'i>(app: &App, items: impl ExactSizeIterator<Item = &'i Item<'m>> + Clone) -> Vec<Raw> {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(items.len());
    let mut nodes = Vec::with_capacity(items.len());
    let mut parents = Vec::with_capacity(items.len());
    for item in items {
        if !is_own(app, &item.object) || places.contains_key(item.object.1.as_str()) {
            continue;
        }
        places.insert(item.object.1.as_str(), nodes.len());
        parents.push(&item.parent.1);
        nodes.push(Raw {
            path: item.object.1.as_str().into(),
            name: item.name.to_owned(),
            description: item.description.to_owned(),
            role: item.role,
            bits: item.bits,
            offers: item.offers,
            declared: item.children,
            index: item.index,
            ..Raw::default()
        });
    }
    for (child, parent) in parents.into_iter().enumerate() {
        if let Some(parent) = places.get(parent.as_str()).copied().filter(|parent| *parent != child) {
            nodes[child].parent = Some(parent);
            nodes[parent].kids.push(child);
        }
    }
    for parent in 0..nodes.len() {
        let mut kids = std::mem::take(&mut nodes[parent].kids);
        kids.sort_by_key(|kid| nodes[*kid].index);
        nodes[parent].kids = kids;
    }
    nodes
}

fn arranged_by_children(app: &App, items: &[OldItem<'_>]) -> Vec<Raw> {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(items.len());
    let mut nodes = Vec::with_capacity(items.len());
    let own: Vec<&OldItem<'_>> = items.iter().filter(|item| is_own(app, &item.object)).collect();
    for item in &own {
        places.insert(item.object.1.as_str(), nodes.len());
        nodes.push(Raw {
            path: item.object.1.as_str().into(),
            name: item.name.to_owned(),
            description: item.description.to_owned(),
            role: item.role,
            bits: item.bits,
            offers: item.offers,
            declared: item.children.len() as i32,
            ..Raw::default()
        });
    }
    for (parent, item) in own.iter().enumerate() {
        let listed = item.children.iter().filter_map(|(_, path)| places.get(path.as_str()).copied());
        for (index, child) in listed.enumerate() {
            nodes[child].index = index as i32;
            nodes[child].parent = Some(parent);
            nodes[parent].kids.push(child);
        }
    }
    for (child, item) in own.iter().enumerate() {
        nodes[child].parent = nodes[child].parent.or_else(|| places.get(item.parent.1.as_str()).copied());
    }
    nodes
}
