//! What the elements of an application cost when nothing stands around them: one GetItems, and GetExtents for
//! each that shows, all sent before the first answer is read. `./bench` compares with it.
//!
//! Reads the number of a process from each line and answers with how many items and places there were. An
//! application without a cache has no items: then there is nothing to compare with.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::io::{BufRead, Write};
    let mut known = std::collections::HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let pid = line?.trim().parse()?;
        if let std::collections::hash_map::Entry::Vacant(place) = known.entry(pid) {
            place.insert(futures_lite::future::block_on(limit::Application::find(pid))?);
        }
        // What Qt 5 keeps has another shape, and nothing in it.
        let (items, places) = futures_lite::future::block_on(known[&pid].read()).unwrap_or_default();
        let mut out = std::io::stdout().lock();
        out.write_all(format!("{items} {places}\n").as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
mod limit {
    use std::collections::HashSet;
    use zbus::zvariant::OwnedObjectPath;
    use zbus::{Connection, Message, MessageStream, Result, connection};

    type Ref = (String, OwnedObjectPath);
    /// By the interface org.a11y.atspi.Cache: object, application, parent, index, children, interfaces, name,
    /// role, description, states.
    type Item = (Ref, Ref, Ref, i32, i32, Vec<String>, String, u32, String, Vec<u32>);

    const ROOT: &str = "/org/a11y/atspi/accessible/root";
    const SHOWING: u32 = 25;

    pub struct Application {
        line: Connection,
        name: Option<String>,
    }

    impl Application {
        pub async fn find(pid: u32) -> std::result::Result<Application, Box<dyn std::error::Error>> {
            let session = Connection::session().await?;
            let reply = session
                .call_method(Some("org.a11y.Bus"), "/org/a11y/bus", Some("org.a11y.Bus"), "GetAddress", &())
                .await?;
            let address: String = reply.body().deserialize()?;
            let bus = connection::Builder::address(address.as_str())?.build().await?;
            let accessible = Some("org.a11y.atspi.Accessible");
            let reply = bus
                .call_method(Some("org.a11y.atspi.Registry"), ROOT, accessible, "GetChildren", &())
                .await?;
            let daemon = zbus::fdo::DBusProxy::new(&bus).await?;
            for (name, _) in reply.body().deserialize::<Vec<Ref>>()? {
                let owner = daemon.get_connection_unix_process_id(name.as_str().try_into()?).await;
                if owner.is_ok_and(|owner| owner == pid) {
                    let interface = Some("org.a11y.atspi.Application");
                    let own = bus
                        .call_method(Some(&*name), ROOT, interface, "GetApplicationBusAddress", &())
                        .await
                        .and_then(|reply| reply.body().deserialize::<String>())
                        .unwrap_or_default();
                    if own.is_empty() {
                        return Ok(Application { line: bus, name: Some(name) });
                    }
                    let line = connection::Builder::address(own.as_str())?.p2p().build().await?;
                    return Ok(Application { line, name: None });
                }
            }
            Err(format!("no application has the process {pid}").into())
        }

        pub async fn read(&self) -> Result<(usize, usize)> {
            let name = self.name.as_deref();
            let cache = Some("org.a11y.atspi.Cache");
            let reply = self.line.call_method(name, "/org/a11y/atspi/cache", cache, "GetItems", &()).await?;
            let items: Vec<Item> = reply.body().deserialize()?;
            let mut answers = MessageStream::from(&self.line);
            let mut open = HashSet::new();
            for (object, .., states) in &items {
                if states.first().is_some_and(|word| word & 1 << SHOWING != 0) {
                    let mut question = Message::method_call(object.1.as_ref(), "GetExtents")?
                        .interface("org.a11y.atspi.Component")?;
                    if let Some(name) = name {
                        question = question.destination(name)?;
                    }
                    let question = question.build(&0_u32)?;
                    self.line.send(&question).await?;
                    open.insert(question.primary_header().serial_num());
                }
            }
            let asked = open.len();
            while !open.is_empty()
                && let Some(answer) = futures_lite::StreamExt::next(&mut answers).await
            {
                if let Some(to) = answer?.header().reply_serial() {
                    open.remove(&to);
                }
            }
            Ok((items.len(), asked))
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
