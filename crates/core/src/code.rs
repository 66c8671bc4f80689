//! The stable codes of everything that a user can be told.

use std::fmt;

/// Who can do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The same call may succeed later.
    Retryable,
    /// The caller asked for something that cannot be done as asked.
    Caller,
    /// A promise of this project was broken.
    Bug,
    /// The work was stopped on purpose.
    Cancelled,
}

/// An error with a stable [`Code`], a class and perhaps a hint.
pub trait Coded: std::error::Error {
    /// The stable code, explained on a page of its own.
    fn code(&self) -> Code;

    /// What the reader can do about it, in one line.
    fn hint(&self) -> Option<String> {
        None
    }

    /// Who can do something about it.
    fn class(&self) -> Class {
        Class::Caller
    }
}

macro_rules! codes {
    ($($variant:ident = $text:literal, $title:literal;)*) => {
        /// A stable error code such as `RAG0102`.
        ///
        /// Each has a page `docs/reference/errors/<code>.md` with the same title.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $title] $variant,)*
        }

        impl Code {
            /// All codes, in order.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The code as it is printed.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }

            /// The title of its page.
            pub const fn title(self) -> &'static str {
                match self { $(Code::$variant => $title,)* }
            }

            /// The code that prints as `text`, if there is one.
            pub fn parse(text: &str) -> Option<Code> {
                match text { $($text => Some(Code::$variant),)* _ => None }
            }
        }
    };
}

codes! {
    Usage = "RAG0001", "The command line is not valid";
    FileUnreadable = "RAG0002", "A file cannot be read";
    NotUtf8 = "RAG0003", "A file is not UTF-8";
    OutputFailed = "RAG0005", "The output cannot be written";

    Syntax = "RAG0101", "The plan has a syntax error";
    UnknownTool = "RAG0102", "The plan names an unknown tool";
    UnknownModel = "RAG0103", "The plan names an unknown model";
    UnknownTarget = "RAG0104", "A route leads to an unknown node";
    DuplicateName = "RAG0105", "A name is declared twice";
    MissingStart = "RAG0106", "The graph has no start";
    UnknownChannel = "RAG0107", "A node writes an unknown channel";
    UnknownReducer = "RAG0108", "A channel has an unknown reducer";
    MissingItem = "RAG0109", "A node lacks something that it needs";
    UnknownKind = "RAG0110", "A node has an unknown kind";
    MisplacedItem = "RAG0111", "Something stands where it has no meaning";
    UnknownDefault = "RAG0112", "An unknown default, or a value that it cannot have";
    NoWayOn = "RAG0113", "A node has no way on";
    GraphCount = "RAG0114", "A file holds no graph, or several";
    Unreachable = "RAG0115", "A node cannot be reached";
    ReservedName = "RAG0116", "A name is reserved";

    ConfigSyntax = "RAG0201", "The configuration is not valid TOML";
    ConfigValue = "RAG0202", "The configuration has a value that it cannot have";
    ToolDeclaration = "RAG0203", "A tool's declaration does not work";
    DataSource = "RAG0204", "A data source cannot be opened or seeded";
    ModelSpec = "RAG0205", "A model specification is not valid";
    Script = "RAG0206", "A script of the scripted model is not valid";

    StoreUnavailable = "RAG0301", "The store cannot be used";
    StoreNewer = "RAG0302", "The store was written by a newer version";
    StoreForeign = "RAG0303", "The file is not a RustAgents store";
    StoreCorrupt = "RAG0304", "The store holds something that cannot be read";
    Busy = "RAG0305", "Another process drives this thread";
    Fenced = "RAG0306", "Another driver took the thread over";
    HeadMoved = "RAG0307", "The chain moved on meanwhile";
    AlreadyRecorded = "RAG0308", "The fact is already recorded";
    TooLarge = "RAG0309", "A value is over its limit";
    StoreUrl = "RAG0310", "The store's address is not valid";
    ItemName = "RAG0311", "A namespace or a key is not valid";
    ItemConflict = "RAG0312", "The item is not as expected";
    StoreRequest = "RAG0313", "The store was asked for something that it does not do";
    NoStore = "RAG0314", "The run has no application store";
    NoEvents = "RAG0315", "No events are kept here";
    NoItem = "RAG0316", "There is no such item";
    ContentGone = "RAG0317", "A content is no longer there";

    UnknownThread = "RAG0401", "There is no such thread";
    UnknownAsk = "RAG0402", "Nothing pending has that name";
    HashMismatch = "RAG0403", "The approval is for other arguments";
    AlreadyAnswered = "RAG0404", "The question was already answered";
    AnswerNotJson = "RAG0405", "An answer is not valid JSON";
    AnswerKind = "RAG0406", "The question takes another kind of answer";
    ThreadSuspended = "RAG0407", "The thread waits for an answer";
    RunUnfinished = "RAG0408", "The thread has an unfinished run";
    Incompatible = "RAG0409", "The plan no longer fits what is pending";
    ThreadName = "RAG0410", "A thread's name is not valid";
    ValueForChannel = "RAG0411", "A channel cannot take that value";
    CallInDoubt = "RAG0412", "A call may have taken effect";
    ThreadExists = "RAG0413", "There is a thread of that name already";
    UnknownPoint = "RAG0414", "The thread has no such checkpoint or run";
    Import = "RAG0415", "The export cannot be imported";
    RunStands = "RAG0416", "The last run does not stand so that this can be done";
    NoRecordedPlan = "RAG0417", "No plan of the thread is recorded";
    Unanswerable = "RAG0418", "The run waits for an answer and records nothing";
    NoRun = "RAG0419", "The thread has no run";

    ModelFailed = "RAG0501", "The model could not answer";
    ModelOutputTooLarge = "RAG0502", "The model's answer is over its limit";
    InvalidModelAction = "RAG0503", "The model asked for something that cannot be done";
    ScriptNoMatch = "RAG0504", "No rule of the script matches";
    UnknownLabel = "RAG0505", "The model's answer is not one of the labels";
    InterruptedByPolicy = "RAG0506", "A policy stopped the run";
    PolicyConfiguration = "RAG0507", "A policy's configuration is not valid";
    ModelRejected = "RAG0508", "The provider refuses the request";
    ModelAnswerCut = "RAG0509", "The model's answer was cut off";
    ModelDeclined = "RAG0510", "The model declined to answer";

    ToolFailed = "RAG0601", "A tool failed";
    ToolNotExecuted = "RAG0603", "A tool call was not executed";
    ToolArguments = "RAG0604", "A tool call's arguments are not valid";
    ToolDenied = "RAG0605", "A tool call was denied";

    BudgetExceeded = "RAG0701", "The run used up its budget";
    RecursionLimit = "RAG0702", "The graph took too many steps";

    ConcurrentUpdate = "RAG0801", "Two tasks wrote one overwrite channel in one step";
    UnknownRoute = "RAG0802", "A node chose a route that does not exist";
    GraphInvalid = "RAG0803", "The graph cannot be compiled";
    NodeFailed = "RAG0804", "A node failed";
    FanOut = "RAG0805", "Too many tasks in one step";
    StepName = "RAG0806", "A step's name or key is not valid";
    StepInFlight = "RAG0807", "Two steps of one name are in flight";
    OutsideTask = "RAG0808", "A step or a question was made outside its task";
    StepChanged = "RAG0809", "A step that must not run twice has another input";
    StepResult = "RAG0810", "A step's input or result cannot be recorded";
    StepNotExecuted = "RAG0811", "A step was not executed";
    StepLimit = "RAG0812", "Too many steps in one task";
    GraphDocument = "RAG0813", "A graph's document cannot be read";
    Goto = "RAG0815", "A node went where it may not go";
    NodeTimeout = "RAG0816", "A node took too long";
    MigrationOrder = "RAG0817", "The thread went through other migrations than the graph declares";
    MigrationFailed = "RAG0818", "A migration of the state failed";
    KeptTwice = "RAG0819", "Two tasks of one step would go on from one call";

    Cancelled = "RAG0901", "The work was cancelled";
    Internal = "RAG0999", "An internal promise was broken";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
