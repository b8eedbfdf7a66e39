//! Functions that an agent may have run: each by a tool of its own with the schema of its arguments, or, where they are
//! many, all by `skill_call { skill, function, arguments }`. Their signatures are told, their source is not: what is chosen
//! by is apart from what is run.

use std::collections::BTreeMap;
use std::sync::Arc;

use apprentice_functions::Source;
use apprentice_protocol::{
    BoxFuture, FunctionCall, SkillId, StepRef, Tool, ToolOutcome, ToolSpec, did_you_mean,
};
use apprentice_skillbook::{SkillFunction, Snapshot, check_function, hash};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::functions_on_screen::DescribedFunction;
use super::reading::tools::{read, spec};

/// `skill_call { skill, function, arguments }`: has a function of a skill run in the world.
pub const SKILL_CALL: &str = "skill_call";

/// Most functions that get a tool each. More would crowd a model's list of tools, which some providers cap.
const MAX_OWN_TOOLS: usize = 12;
/// Longest name of a tool that every provider takes.
const MAX_TOOL_NAME_CHARS: usize = 64;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallArguments {
    /// The note that the function belongs to, `domain/name`.
    skill: String,
    /// The function's name.
    function: String,
    /// A value for each of its arguments, by name.
    #[serde(default)]
    arguments: Value,
}

/// A function that may be called.
struct Callable {
    version: u32,
    source: Source,
    verified: bool,
}

/// The functions of a book that a trial gets, by skill and name.
#[derive(Default)]
pub(crate) struct Functions(BTreeMap<(SkillId, String), Callable>);

impl Functions {
    /// Returns the functions of a book: the verified ones, and the others on request.
    pub(crate) fn of(book: &Snapshot, with_unverified: bool) -> Self {
        let mut found = BTreeMap::new();
        for skill in book.skills() {
            let provided = |function: &&SkillFunction| {
                function.is_verified() || (with_unverified && function.retired.is_none())
            };
            for (name, function) in skill.functions.iter().filter(|(_, function)| provided(function)) {
                // A book may come from elsewhere, or from a version that checked less.
                let Ok(source) = check_function(&function.source, &[]) else { continue };
                let (version, verified) = (function.version, function.is_verified());
                found.insert((skill.id.clone(), name.clone()), Callable { version, source, verified });
            }
        }
        Self(found)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the signatures as a model reads them, by skill.
    pub(crate) fn described(&self) -> Vec<DescribedFunction> {
        let described = |((skill, _), callable): (&(SkillId, String), &Callable)| {
            let mark = if callable.verified { "" } else { " (not verified)" };
            let signature = callable.source.signature();
            DescribedFunction {
                domain: skill.domain().to_owned(),
                surface: signature.surface,
                text: format!("{skill}{mark}: {}", signature.told()),
            }
        };
        self.0.iter().map(described).collect()
    }

    /// Returns the tools that call them: one for each if there are few, else one for all.
    pub(crate) fn tools(self, own: bool) -> Vec<Arc<dyn Tool>> {
        if !own || self.0.len() > MAX_OWN_TOOLS {
            return vec![self.tool()];
        }
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for (_, function) in self.0.keys() {
            *names.entry(function.clone()).or_default() += 1;
        }
        let own = |((skill, function), callable): ((SkillId, String), Callable)| {
            let is_shared = names.get(&function).is_some_and(|count| *count > 1);
            let name = tool_name(&skill, &function, is_shared);
            let schema = callable.source.signature().schema();
            let mark = if callable.verified { "" } else { " Not verified." };
            let about = format!("{} (A function of {skill}.{mark})", callable.source.signature().about);
            let spec = ToolSpec { name, description: about, schema };
            Arc::new(FunctionTool { spec, skill, function, callable }) as Arc<dyn Tool>
        };
        self.0.into_iter().map(own).collect()
    }

    fn tool(self) -> Arc<dyn Tool> {
        let about = "Runs a function of a note in the world. It stops where something is not as it expects: then go on \
                     by hand.";
        Arc::new(CallTool { spec: spec::<CallArguments>(SKILL_CALL, about), functions: self })
    }

    fn find(&self, call: &CallArguments) -> Option<(&SkillId, &Callable)> {
        let mut of_name = self.0.iter().filter(|((skill, name), _)| {
            *name == call.function && (skill.as_str() == call.skill || skill.slug() == call.skill)
        });
        of_name.next().map(|((skill, _), callable)| (skill, callable))
    }
}

/// Returns the name of a function's tool: `run_NAME`, and with its skill's where two skills have one of this name.
fn tool_name(skill: &SkillId, function: &str, is_shared: bool) -> String {
    let name = if is_shared {
        format!("run_{}_{function}", skill.as_str().replace(['/', '-'], "_"))
    } else {
        format!("run_{function}")
    };
    if name.len() <= MAX_TOOL_NAME_CHARS {
        return name;
    }
    let tail = format!("_{:.8}", hash(name.as_bytes()));
    name.chars().take(MAX_TOOL_NAME_CHARS - tail.len()).collect::<String>() + tail.as_str()
}

/// The tool of one function.
struct FunctionTool {
    spec: ToolSpec,
    skill: SkillId,
    function: String,
    callable: Callable,
}

impl Tool for FunctionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn function(&self, arguments: &Value) -> Option<FunctionCall> {
        let function = self.callable.source.start(arguments).ok()?;
        let (skill, version) = (self.skill.clone(), self.callable.version);
        Some(FunctionCall {
            skill,
            name: self.function.clone(),
            version,
            arguments: arguments.clone(),
            function,
        })
    }

    fn call<'a>(&'a self, arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        let why = match self.callable.source.start(arguments) {
            Ok(_) => "the function cannot be run here".to_owned(),
            Err(why) => format!("{why}\n{}", self.callable.source.signature().told()),
        };
        Box::pin(std::future::ready(ToolOutcome::error(why)))
    }
}

struct CallTool {
    spec: ToolSpec,
    functions: Functions,
}

impl CallTool {
    /// Says why a call runs nothing.
    fn refusal(&self, arguments: &Value) -> String {
        let call = match read::<CallArguments>(arguments) {
            Ok(call) => call,
            Err(why) => return format!("the arguments of {SKILL_CALL} do not fit: {why}"),
        };
        let Some((_, callable)) = self.functions.find(&call) else {
            let names: Vec<String> =
                self.functions.0.keys().map(|(skill, name)| format!("{skill} {name}")).collect();
            let wanted = format!("{} {}", call.skill, call.function);
            let hint = did_you_mean(&wanted, names.iter().map(String::as_str));
            return format!("there is no function {} of {}{hint}", call.function, call.skill);
        };
        match callable.source.start(&call.arguments) {
            Ok(_) => "the function cannot be run here".to_owned(),
            Err(why) => format!("{why}\n{}", callable.source.signature().told()),
        }
    }
}

impl Tool for CallTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn function(&self, arguments: &Value) -> Option<FunctionCall> {
        let call = read::<CallArguments>(arguments).ok()?;
        let (skill, callable) = self.functions.find(&call)?;
        let function = callable.source.start(&call.arguments).ok()?;
        let (skill, version) = (skill.clone(), callable.version);
        Some(FunctionCall { skill, name: call.function, version, arguments: call.arguments, function })
    }

    fn call<'a>(&'a self, arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(std::future::ready(ToolOutcome::error(self.refusal(arguments))))
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::SkillId;

    use super::tool_name;

    #[test]
    fn the_name_of_a_functions_tool_is_whole_up_to_64_letters_and_never_longer() {
        let skill = SkillId::parse("gimp/layers").expect("an id");
        let named = |letters: usize, is_shared| tool_name(&skill, &"f".repeat(letters), is_shared);
        assert_eq!(named(60, false), format!("run_{}", "f".repeat(60)));
        assert_eq!(named(48, true), format!("run_gimp_layers_{}", "f".repeat(48)));
        for cut in [named(61, false), named(49, true)] {
            assert!(cut.len() == 64, "{cut}");
        }
        let others = [named(61, false), named(62, false), named(49, true), named(50, true)];
        assert_eq!(others.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "no two are alike");
    }
}
