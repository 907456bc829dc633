//! How long pictures take: encoding, scaling, base64, of screens like real ones.

fn main() {
    divan::main();
}
