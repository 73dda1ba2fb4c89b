//! Files that hold nothing to analyse: what each is, and what to bring instead.

/// A kind of file that has no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Foreign {
    /// No bytes.
    Empty,
    /// The first bytes are all zero.
    Zeros,
    /// A binary file that went through a text conversion: every byte of 0x80 and above became EF BF BD.
    Mangled,
    /// A Git LFS or git-annex pointer in place of the file.
    Pointer,
    /// Chrome trace JSON, Perfetto's own format: a timeline without plan.
    Timeline,
    /// A file that XProf computed from a capture (`op_stats.pb`, `overview_page.json`, …).
    Derived,
    /// An `HloModuleProto` without the `HloProto` around it: the program without its plan.
    ModuleAlone,
    /// HLO or StableHLO as text: the program without its plan.
    ProgramText,
    /// A part of XLA's dump of a plan that does not stand alone: values, live ranges, the short report as protobuf.
    PlanPart,
    /// TensorBoard's scalars and histograms.
    TensorBoardEvents,
    /// A PyTorch memory snapshot, or another pickle.
    Pickle,
    /// A report of NVIDIA Nsight Systems, or its SQLite export.
    Nsight,
    /// A web page.
    Html,
    /// XML; a cloud bucket answers so when it refuses.
    Xml,
    /// A Jupyter notebook.
    Notebook,
    /// JSON of another kind.
    Json,
    /// A PDF document.
    Pdf,
    /// A picture.
    Image,
    /// A program or library.
    Executable,
    /// Weights or arrays (safetensors, HDF5, NumPy).
    Arrays,
    /// An archive or compression other than gzip, zip and tar.
    Compressed,
    /// A protobuf message of another kind.
    Protobuf,
    /// Bytes of no known kind.
    Unknown,
}

/// What is asked for where nothing closer is known.
const BRING: &str = "Bring the profiler capture that JAX wrote: `<host>.xplane.pb` in the folder \
                     `plugins/profile/<time>` below the log directory";

impl Foreign {
    /// What it is, as the end of a sentence that begins with `this is`.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Foreign::Empty => "an empty file",
            Foreign::Zeros => "a file of zero bytes, as an interrupted copy leaves it",
            Foreign::Mangled => {
                "a binary file broken by a text conversion: its bytes of 0x80 and above were replaced by EF BF BD"
            }
            Foreign::Pointer => "a pointer of Git LFS or git-annex in place of the file",
            Foreign::Timeline => "a trace for timeline viewers, which holds no memory plan",
            Foreign::Derived => "a file that XProf computed from a capture, not the capture",
            Foreign::ModuleAlone => "an HLO module without its buffer assignment",
            Foreign::ProgramText => "the text of a program, without its memory plan",
            Foreign::PlanPart => "a part of XLA's dump of a plan that does not stand alone",
            Foreign::TensorBoardEvents => "an event file of TensorBoard (scalars, histograms)",
            Foreign::Pickle => "a Python pickle, perhaps a memory snapshot of PyTorch",
            Foreign::Nsight => "a report of Nsight Systems or a SQLite database",
            Foreign::Html => "a web page",
            Foreign::Xml => "an XML file, perhaps the refusal of a storage service",
            Foreign::Notebook => "a Jupyter notebook",
            Foreign::Json => "a JSON file",
            Foreign::Pdf => "a PDF document",
            Foreign::Image => "a picture",
            Foreign::Executable => "a program or library",
            Foreign::Arrays => "a file of arrays or weights",
            Foreign::Compressed => "an archive of a kind that is not unpacked here",
            Foreign::Protobuf => "a protobuf message of another kind than a capture",
            Foreign::Unknown => "no file of a known kind",
        }
    }

    /// What to bring instead: one sentence without its full stop.
    #[must_use]
    pub fn bring(self) -> &'static str {
        match self {
            Foreign::Empty | Foreign::Zeros => {
                "Copy the capture again; if it is so where JAX wrote it, the program ended before the trace was \
                 stopped: use `with jax.profiler.trace(dir):`, which stops it on an exception too"
            }
            Foreign::Mangled => {
                "The lost bytes cannot be restored: fetch the capture again as a binary file (no text mode, no \
                 decoding to a string, no end-of-line conversion)"
            }
            Foreign::Pointer => "Fetch the file itself, by `git lfs pull` or `git annex get`",
            Foreign::Timeline => {
                "Bring the `<host>.xplane.pb` that lies in the same folder; it holds the plan and the allocator's events"
            }
            Foreign::Derived => "Bring the `<host>.xplane.pb` that lies in the same folder",
            Foreign::ModuleAlone => {
                "Bring an `HloProto`: `XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_proto\"` writes `*.hlo.pb` with \
                 the plan, for each module after optimizations"
            }
            Foreign::ProgramText | Foreign::PlanPart => {
                "Bring the `*-buffer-assignment.txt` that lies beside it, or `*.hlo.pb` from \
                 `XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_proto\"`"
            }
            Foreign::Html => {
                "It may be the page that shows the file: download the file itself (\"raw\"). To paste an error, paste \
                 its text"
            }
            Foreign::Notebook => "Paste the text of the error that it shows, or bring the capture",
            Foreign::Image => "Paste the error as text, or bring the capture",
            Foreign::Pickle => {
                "PyTorch's snapshots are read by pytorch.org/memory_viz. Of a JAX program bring `<host>.xplane.pb`"
            }
            Foreign::Compressed => "Unpack it, or pack it again as .zip, .tar.gz or .gz",
            _ => BRING,
        }
    }

    /// The whole sentence about a file of this kind.
    #[must_use]
    pub fn sentence(self) -> String {
        format!("This is {}. {}.", self.what(), self.bring())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_say_what_it_is_and_what_to_bring() {
        let said = Foreign::Timeline.sentence();
        assert!(said.starts_with("This is a trace for timeline viewers"), "{said}");
        assert!(said.contains("xplane.pb") && said.ends_with('.'), "{said}");
        assert!(!Foreign::Unknown.sentence().contains(".."));
    }
}
