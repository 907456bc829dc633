//! Long lists in pages. A token says where to go on; what it looks like is nobody's business.

use deskhand_core::{Error, Result};

/// The items of one page, and the token of the next.
pub fn page<T>(items: Vec<T>, size: Option<i64>, token: Option<&str>) -> Result<(Vec<T>, Option<String>)> {
    let start = match token {
        None | Some("") => 0,
        Some(token) => parse(token)?,
    };
    let size =
        size.and_then(|size| usize::try_from(size).ok()).filter(|size| 0 < *size).unwrap_or(usize::MAX);
    let total = items.len();
    let end = start.saturating_add(size).min(total);
    let next = (end < total).then(|| format!("p{:x}", end ^ MASK));
    Ok((items.into_iter().skip(start).take(size).collect(), next))
}

/// Keeps callers from computing tokens of their own.
const MASK: usize = 0x5a5a;

fn parse(token: &str) -> Result<usize> {
    token
        .strip_prefix('p')
        .and_then(|hex| usize::from_str_radix(hex, 16).ok())
        .map(|masked| masked ^ MASK)
        .ok_or_else(|| {
            Error::argument(format!("The page token {token:?} is none of ours."))
                .remedy("Pass next_page_token of the page before, unchanged, or none for the first page.")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_without_gap() {
        let (mut all, mut token) = (Vec::new(), None);
        loop {
            let (items, next) = page((0..7).collect(), Some(3), token.as_deref()).unwrap();
            all.extend(items);
            token = next;
            if token.is_none() {
                break;
            }
        }
        assert_eq!(all, (0..7).collect::<Vec<_>>());
        assert!(page(vec![1], None, Some("nonsense")).is_err());
    }
}
