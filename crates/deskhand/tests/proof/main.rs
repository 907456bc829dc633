//! Which test proves which criterion of the documents that Deskhand answers to.
//!
//! criteria.txt names every criterion. A test proves one by its name: `fr_003_…` proves FR-003, `us1_2_…`
//! US1.2, `rq_3_4_…` RQ.3.4, `tc_click_…` TC.click, `jr_walk_…` JR.walk. docs/requirements.md is made from both.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// One line of criteria.txt.
struct Criterion {
    id: String,
    says: String,
    /// What is different on Linux.
    note: Option<String>,
}

impl Criterion {
    /// How names of tests that prove it begin.
    fn prefix(&self) -> String {
        let id = self.id.to_lowercase().replace("mc.edge", "edge_mc");
        id.replace(['.', '-'], "_")
    }
}

/// A document with its criteria.
struct Document {
    title: String,
    file: String,
    criteria: Vec<Criterion>,
}

/// Where a test is.
struct Test {
    name: String,
    file: String,
}

#[test]
fn every_criterion_has_its_test() {
    let documents = documents();
    let tests = tests();
    let proofs = proofs(&documents, &tests);
    let missing: Vec<&str> = documents
        .iter()
        .flat_map(|document| &document.criteria)
        .filter(|criterion| !proofs.contains_key(&criterion.id))
        .map(|criterion| criterion.id.as_str())
        .collect();
    assert!(missing.is_empty(), "{} criteria have no test: {}", missing.len(), missing.join(" "));
}

#[test]
fn every_test_that_is_named_after_a_criterion_finds_it() {
    let documents = documents();
    let tests = tests();
    let proofs = proofs(&documents, &tests);
    let proving: Vec<&str> = proofs.values().flatten().map(|test| test.name.as_str()).collect();
    let is_named_so = |name: &str| {
        let digit_after = |prefix: &str| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        ["us", "fr_", "sc_", "rq_", "edge_mc_"].into_iter().any(digit_after)
            || ["tc_", "jr_"].iter().any(|prefix| name.starts_with(prefix))
            || ["mi_a_", "mi_b_", "mi_c_", "mi_d_", "mi_e_"].iter().any(|prefix| name.starts_with(prefix))
    };
    for test in &tests {
        let strays = is_named_so(&test.name) && !proving.contains(&test.name.as_str());
        assert!(!strays, "{} in {} is named after no criterion", test.name, test.file);
    }
}

#[test]
fn the_table_of_proof_is_fresh() {
    let path = root().join("docs/requirements.md");
    let documents = documents();
    let tests = tests();
    let fresh = table(&documents, &proofs(&documents, &tests));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == fresh,
        "docs/requirements.md is stale: run UPDATE_EXPECT=1 cargo test -p deskhand --test proof"
    );
}

/// A test proves the criterion with the longest name that its own begins with: `tc_click_element_…` is
/// not about `click`.
fn proofs<'a>(documents: &[Document], tests: &'a [Test]) -> BTreeMap<String, Vec<&'a Test>> {
    let criteria: Vec<&Criterion> = documents.iter().flat_map(|document| &document.criteria).collect();
    let mut proofs: BTreeMap<String, Vec<&Test>> = BTreeMap::new();
    for test in tests {
        let proven = criteria
            .iter()
            .filter(|criterion| {
                let rest = test.name.strip_prefix(&criterion.prefix());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            })
            .max_by_key(|criterion| criterion.prefix().len());
        if let Some(criterion) = proven {
            proofs.entry(criterion.id.clone()).or_default().push(test);
        }
    }
    proofs
}

fn table(documents: &[Document], proofs: &BTreeMap<String, Vec<&Test>>) -> String {
    let mut text = String::from(
        "# The table of proof\n\n\
         Every criterion of the documents that Deskhand answers to, and the test that proves it.\n\
         Generated from the names of the tests; `UPDATE_EXPECT=1 cargo test -p deskhand --test proof` rewrites it.\n\n\
         The tests act through MCP (those of json-rpc.md over HTTP) on real X11 desktops, and hold each reply against what the applications,\n\
         the services or the X server say. They hold on Linux (X11).\n",
    );
    for document in documents {
        let _ = write!(
            text,
            "\n## {} ({})\n\n| criterion | says | proven by | on Linux |\n|---|---|---|---|\n",
            document.title, document.file
        );
        for criterion in &document.criteria {
            let tests: Vec<String> = proofs
                .get(&criterion.id)
                .into_iter()
                .flatten()
                .map(|test| format!("[`{}`](../{})", test.name, test.file))
                .collect();
            let note = criterion.note.as_deref().unwrap_or("holds");
            let _ =
                writeln!(text, "| {} | {} | {} | {note} |", criterion.id, criterion.says, tests.join(", "));
        }
    }
    text
}

fn documents() -> Vec<Document> {
    let mut documents: Vec<Document> = Vec::new();
    for line in include_str!("criteria.txt").lines() {
        let mut parts = line.split(" | ").map(str::to_owned);
        let mut next = || parts.next();
        match line.strip_prefix("# ") {
            Some(_) => {
                let title = next().unwrap_or_default().trim_start_matches("# ").to_owned();
                let file = next().unwrap_or_default();
                documents.push(Document { title, file, criteria: Vec::new() });
            }
            None => {
                let (id, says, note) = (next().unwrap(), next().expect(line), next());
                documents.last_mut().expect(line).criteria.push(Criterion { id, says, note });
            }
        }
    }
    documents
}

/// Every test of every crate, by its source.
fn tests() -> Vec<Test> {
    let mut files = Vec::new();
    for crate_name in ["core", "deskhand", "linux"] {
        sources(&root().join("crates").join(crate_name).join("tests"), &mut files);
    }
    files.sort();
    let mut tests = Vec::new();
    for path in files {
        let source = std::fs::read_to_string(&path).unwrap();
        let file = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            if line.trim() != "#[test]" {
                continue;
            }
            let name = lines.by_ref().find_map(|line| line.trim().strip_prefix("fn ")?.split('(').next());
            tests.extend(name.map(|name| Test { name: name.to_owned(), file: file.clone() }));
        }
    }
    tests
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
