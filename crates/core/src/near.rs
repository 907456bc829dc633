//! Near misses: what somebody who wrote a name that does not exist may have meant.

/// The longest name in bytes that is compared.
const LONGEST: usize = 100;

/// The names that hold `wanted`, are held by it, or differ from it by a slip of the hand, the nearest
/// first. Case, `_` and `-` do not count.
pub fn near<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    let wanted = plain(wanted);
    // Nobody meant anything by a very long one, and comparing it would take long.
    if wanted.is_empty() || LONGEST < wanted.len() {
        return Vec::new();
    }
    let slips = (wanted.chars().count() / 3).clamp(1, 3);
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let known = plain(name);
            let distance = distance(&wanted, &known);
            // A name of a letter or two is a part of nearly everything.
            let holds = known.contains(&wanted) || 2 < known.len() && wanted.contains(&known);
            (holds || distance <= slips).then_some((distance, name))
        })
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().map(|(_, name)| name).collect()
}

/// How many characters have to be put in, left out, replaced or swapped with their neighbor.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least = (row[j] + usize::from(a != b)).min(row[j + 1] + 1).min(next[j] + 1);
            if 0 < i && 0 < j && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_hand_and_parts_are_near() {
        let names = ["click", "double_click", "type_text", "drag", "get_element", "x"];
        assert_eq!(near("clik", names), ["click"]);
        assert_eq!(near("TypeText", names), ["type_text"]);
        assert_eq!(near("tpye_text", names), ["type_text"]);
        assert_eq!(near("element", names), ["get_element"]);
        assert_eq!(near("click_it", names), ["click"]);
        assert_eq!(near("", names), [""; 0]);
        assert_eq!(near("exact", names), [""; 0]);
    }
}
