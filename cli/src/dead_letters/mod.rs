//! `pubsink dead-letters`: what a journal gave up.

mod letter;
mod pages;

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use pubsink_core::journal::{DeadId, DeadLetter, Filter};
use pubsink_runtime::journal::Journal as _;

use crate::exit::{CommandError, Exit};
use crate::filter::FilterFlags;
use crate::run::Opened;
use crate::say::{counted, say};
pub(crate) use letter::{Why, why};
use letter::{export, listed, shown};
pub(crate) use pages::Pages;

const CODES: &str = "Exit codes: 0 done; 1 it could not be written; 2 bad usage, no \
                     such dead letter, or a journal that cannot be opened";

/// List, show, export or discard the dead letters of a journal.
///
/// They are sent again by `pubsink replay --journal`.
#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// A line of JSON for each: what it is and why it was given up, without its body
    #[command(after_help = CODES)]
    List(Selection),
    /// Everything about one of them, headers and body too
    #[command(after_help = CODES)]
    Show(Show),
    /// Lines that publish and replay --from read; they stay in the journal
    #[command(after_help = CODES)]
    Export(Export),
    /// Remove dead letters for good, all of them where no filter is given; nothing else does
    #[command(after_help = CODES)]
    Discard(Discard),
}

#[derive(Debug, Args)]
struct Selection {
    /// The journal
    #[arg(long, value_name = "DIR")]
    journal: PathBuf,
    /// At most N [default: all]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// For this sink, such as projects/P/topics/T
    #[arg(long, value_name = "NAME")]
    sink: Option<String>,
    #[command(flatten)]
    filter: FilterFlags,
}

#[derive(Debug, Args)]
struct Show {
    /// The journal
    #[arg(long, value_name = "DIR")]
    journal: PathBuf,
    /// Its id, as list tells it
    #[arg(value_name = "ID")]
    id: u64,
}

#[derive(Debug, Args)]
struct Export {
    /// Write to FILE, which must not be there yet; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    selection: Selection,
}

#[derive(Debug, Args)]
struct Discard {
    /// Do it: without this nothing is removed
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    selection: Selection,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    match &arguments.action {
        Action::List(selection) => {
            let opened = Opened::existing(&selection.journal)?;
            write_all(&opened, selection, io::stdout().lock(), listed)
        }
        Action::Show(show) => show_one(show),
        Action::Export(export) => run_export(export),
        Action::Discard(discard) => run_discard(discard),
    }
}

impl Selection {
    fn filter(&self) -> Filter {
        self.filter.filter(self.sink.as_deref())
    }
}

fn show_one(show: &Show) -> Result<Exit, CommandError> {
    let opened = Opened::existing(&show.journal)?;
    let before = DeadId(show.id.saturating_sub(1));
    let found = opened.journal.dead_letters(Filter::default(), before, 1);
    let found = smol::block_on(found).map_err(|error| opened.failed(&error))?;
    let letter = found.first().filter(|letter| letter.id.0 == show.id);
    let letter =
        letter.ok_or_else(|| CommandError(format!("there is no dead letter {}", show.id)))?;
    let text = shown(letter).map_err(|error| CommandError::new("cannot show it", error))?;
    Ok(written(writeln!(io::stdout(), "{text}")))
}

fn run_export(arguments: &Export) -> Result<Exit, CommandError> {
    let (selection, path) = (&arguments.selection, &arguments.output);
    let opened = Opened::existing(&selection.journal)?;
    if path == Path::new("-") {
        return write_all(&opened, selection, io::stdout().lock(), export);
    }
    let file = File::create_new(path).map_err(|error| {
        CommandError::new(format!("cannot write --output {}", path.display()), error)
    })?;
    write_all(&opened, selection, Synced(file), export)
}

fn run_discard(arguments: &Discard) -> Result<Exit, CommandError> {
    let selection = &arguments.selection;
    let opened = Opened::existing(&selection.journal)?;
    let mut pages = Pages::new(&opened, selection.filter(), selection.limit);
    let mut count = 0;
    while let Some(letters) = smol::block_on(pages.next())? {
        if arguments.yes {
            let ids = letters.iter().map(|letter| letter.id).collect();
            let discarded = smol::block_on(opened.journal.discard(ids));
            count += discarded.map_err(|error| opened.failed(&error))? as u64;
        } else {
            count += letters.len() as u64;
        }
    }
    if arguments.yes {
        say(format_args!(
            "pubsink: {} discarded",
            counted(count, "dead letter")
        ));
        return Ok(Exit::Delivered);
    }
    Err(CommandError(format!(
        "{} would be removed for good; --yes does it",
        counted(count, "dead letter")
    )))
}

/// Writes a line for every dead letter that is meant.
fn write_all(
    opened: &Opened,
    selection: &Selection,
    output: impl Write,
    line: fn(&DeadLetter) -> io::Result<String>,
) -> Result<Exit, CommandError> {
    let mut output = BufWriter::new(output);
    let mut pages = Pages::new(opened, selection.filter(), selection.limit);
    while let Some(letters) = smol::block_on(pages.next())? {
        for letter in &letters {
            if let Err(error) = line(letter).and_then(|line| writeln!(output, "{line}")) {
                return Ok(written(Err(error)));
            }
        }
    }
    Ok(written(output.flush()))
}

/// A reader that has seen enough (`| head`) is no failure.
fn written(result: io::Result<()>) -> Exit {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            say(format_args!("pubsink: cannot write: {error}"));
            Exit::Failed
        }
        _ => Exit::Delivered,
    }
}

/// A file whose content is on the disk once it was flushed: what is exported may be discarded next.
struct Synced(File);

impl Write for Synced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }
}
