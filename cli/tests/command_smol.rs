//! Every test of the command once more, on smol.

#[path = "command/main.rs"]
mod command;
