//! The result of the analysis of a command.

use openoxide_protocol::{AbsPath, Access, CommandClass, OperationFacts};
use openoxide_shell::{AnalysisContext, analyze_script};

/// The working directory that is passed to the analysis.
const WORK: &str = "/w/work";

/// The result of the analysis of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// The command only reads these files and prints.
    Harmless { reads: Vec<String> },
    /// The command is not harmless, but does no more than is reported. A rule can allow it.
    Told {
        /// The files that it writes.
        writes: Vec<String>,
        /// True if it starts programs.
        starts: bool,
    },
    /// The effects of the command are unknown. No rule allows it.
    Opaque,
}

/// Asks the analysis about a command of these words.
pub(crate) fn ask(words: &[String]) -> Said {
    let Ok(cwd) = AbsPath::new(WORK) else { return Said::Opaque };
    let script: Vec<String> = words.iter().map(|word| quote(word)).collect();
    said(&analyze_script(&script.join(" "), &AnalysisContext { cwd: &cwd, home: None }))
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn said(facts: &OperationFacts) -> Said {
    let mut harmless = true;
    let mut programs = 0;
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for access in &facts.accesses {
        match access {
            Access::Exec(exec) => {
                harmless &= exec.class == CommandClass::Harmless;
                programs += 1;
            }
            Access::Read(path) => reads.push(path.raw_path.clone()),
            Access::ExternalDirectory(_) => {}
            Access::Edit(path) => {
                harmless = false;
                writes.push(path.raw_path.clone());
            }
            _ => return Said::Opaque,
        }
    }
    if harmless { Said::Harmless { reads } } else { Said::Told { writes, starts: programs > 1 } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(words: &[&str]) -> Said {
        super::ask(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn the_three_results_are_distinguished() {
        let harmless = Said::Harmless { reads: vec!["a".to_owned()] };
        assert_eq!(ask(&["awk", "{print $1}", "a"]), harmless);
        let told = Said::Told { writes: vec!["out".to_owned()], starts: false };
        assert_eq!(ask(&["awk", "{print > \"out\"}"]), told);
        assert_eq!(ask(&["sed", "e id"]), Said::Told { writes: Vec::new(), starts: true });
        assert_eq!(ask(&["awk", "BEGIN{system(\"it's\")}"]), Said::Opaque);
    }
}
