//! The specifications of the manager's ten tools, and their parsed arguments.

use apprentice_protocol::ToolSpec;
use apprentice_skillbook::LeaveReason;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// `fetch_similar_skills`
pub const FETCH_SIMILAR_SKILLS: &str = "fetch_similar_skills";
/// `read_skills`
pub const READ_SKILLS: &str = "read_skills";
/// `read_reports`
pub const READ_REPORTS: &str = "read_reports";
/// `create_domain`
pub const CREATE_DOMAIN: &str = "create_domain";
/// `create_skill`
pub const CREATE_SKILL: &str = "create_skill";
/// `update_skill`
pub const UPDATE_SKILL: &str = "update_skill";
/// `merge_skills`
pub const MERGE_SKILLS: &str = "merge_skills";
/// `annotate_skill`
pub const ANNOTATE_SKILL: &str = "annotate_skill";
/// `delete_skill`
pub const DELETE_SKILL: &str = "delete_skill";
/// `leave_item`
pub const LEAVE_ITEM: &str = "leave_item";

/// Arguments of `fetch_similar_skills`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchSimilar {
    /// The situation to compare with.
    pub situation: String,
}

/// Arguments of `read_skills`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadSkills {
    /// Ids of the form `domain/name`.
    pub skill_ids: Vec<String>,
}

/// Arguments of `read_reports`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadReports {
    /// Ids of reports that this item shows or names.
    pub report_ids: Vec<String>,
}

/// Arguments of `create_domain`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateDomain {
    /// Lower-case letters, digits and hyphens.
    pub domain: String,
    /// One line: which program or area it is.
    pub description: String,
}

/// Arguments of `create_skill`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSkill {
    /// The domain it belongs to.
    pub domain: String,
    /// Lower-case letters, digits and hyphens.
    pub skill_name: String,
    /// One line that says when to look at it.
    pub description: String,
    /// When it applies.
    pub situation: String,
    /// What to do.
    pub guidance: String,
    /// Ids of earlier reports that say the same, from separate attempts.
    #[serde(default)]
    pub agrees_with: Vec<String>,
    /// Ids of earlier reports that say the contrary.
    #[serde(default)]
    pub conflicts_with: Vec<String>,
}

/// Arguments of `update_skill`; what is not given stays as it is.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateSkill {
    /// Its id, `domain/name`.
    pub skill_id: String,
    /// The new line, if it changes.
    #[serde(default)]
    pub description: Option<String>,
    /// The new situation, if it changes.
    #[serde(default)]
    pub situation: Option<String>,
    /// The new guidance, if it changes.
    #[serde(default)]
    pub guidance: Option<String>,
    /// Ids of earlier reports that say the same, from separate attempts.
    #[serde(default)]
    pub agrees_with: Vec<String>,
    /// Ids of earlier reports that say the contrary.
    #[serde(default)]
    pub conflicts_with: Vec<String>,
    /// Ids of this attempt's steps that prove the correction.
    #[serde(default)]
    pub proved_by: Vec<String>,
}

/// Arguments of `merge_skills`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeSkills {
    /// The skill that goes away.
    pub source_skill_id: String,
    /// The skill that stays.
    pub target_skill_id: String,
    /// The line of the result.
    pub description: String,
    /// The situation of the result.
    pub situation: String,
    /// The guidance of the result.
    pub guidance: String,
    /// Ids of earlier reports that say the same, from separate attempts.
    #[serde(default)]
    pub agrees_with: Vec<String>,
    /// Ids of earlier reports that say the contrary.
    #[serde(default)]
    pub conflicts_with: Vec<String>,
}

/// Arguments of `annotate_skill`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnnotateSkill {
    /// Its id, `domain/name`.
    pub skill_id: String,
    /// The note.
    pub annotation: String,
    /// Ids of earlier reports that say the same, from separate attempts.
    #[serde(default)]
    pub agrees_with: Vec<String>,
    /// Ids of earlier reports that say the contrary.
    #[serde(default)]
    pub conflicts_with: Vec<String>,
}

/// Arguments of `delete_skill`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteSkill {
    /// Its id, `domain/name`.
    pub skill_id: String,
    /// Ids of earlier reports that say the same, from separate attempts.
    #[serde(default)]
    pub agrees_with: Vec<String>,
    /// Ids of earlier reports that say the contrary.
    #[serde(default)]
    pub conflicts_with: Vec<String>,
}

/// Arguments of `leave_item`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaveItem {
    /// The kind of reason.
    #[schemars(schema_with = "reasons")]
    pub reason: LeaveReason,
    /// The reason in one sentence, without names and values of the task.
    pub why: String,
    /// Ids of earlier reports that say the same, from separate attempts.
    #[serde(default)]
    pub agrees_with: Vec<String>,
    /// Ids of earlier reports that say the contrary.
    #[serde(default)]
    pub conflicts_with: Vec<String>,
}

/// Returns a plain list of words. Some providers read no references between schemas.
fn reasons(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": LeaveReason::ALL.map(LeaveReason::word) })
}

/// A parsed call.
#[derive(Clone, Debug)]
pub enum ToolCall {
    /// `fetch_similar_skills`
    FetchSimilar(FetchSimilar),
    /// `read_skills`
    Read(ReadSkills),
    /// `read_reports`
    ReadReports(ReadReports),
    /// `create_domain`
    CreateDomain(CreateDomain),
    /// `create_skill`
    Create(CreateSkill),
    /// `update_skill`
    Update(UpdateSkill),
    /// `merge_skills`
    Merge(MergeSkills),
    /// `annotate_skill`
    Annotate(AnnotateSkill),
    /// `delete_skill`
    Delete(DeleteSkill),
    /// `leave_item`
    Leave(LeaveItem),
}

/// Parses a call. The error is a sentence for the model.
pub fn read_call(name: &str, arguments: &Value) -> Result<ToolCall, String> {
    fn of<T: DeserializeOwned>(name: &str, arguments: &Value) -> Result<T, String> {
        apprentice_model_json::from_arguments(arguments)
            .map_err(|error| format!("the arguments of {name} do not fit: {error}"))
    }
    match name {
        FETCH_SIMILAR_SKILLS => of(name, arguments).map(ToolCall::FetchSimilar),
        READ_SKILLS => of(name, arguments).map(ToolCall::Read),
        READ_REPORTS => of(name, arguments).map(ToolCall::ReadReports),
        CREATE_DOMAIN => of(name, arguments).map(ToolCall::CreateDomain),
        CREATE_SKILL => of(name, arguments).map(ToolCall::Create),
        UPDATE_SKILL => of(name, arguments).map(ToolCall::Update),
        MERGE_SKILLS => of(name, arguments).map(ToolCall::Merge),
        ANNOTATE_SKILL => of(name, arguments).map(ToolCall::Annotate),
        DELETE_SKILL => of(name, arguments).map(ToolCall::Delete),
        LEAVE_ITEM => of(name, arguments).map(ToolCall::Leave),
        _ => Err(format!("there is no tool {name:?}; use one of the ten listed")),
    }
}

fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let mut schema = schemars::schema_for!(T);
    schema.remove("$schema");
    schema.remove("title");
    schema.remove("description");
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema: schema.to_value() }
}

/// Returns the ten tool specifications, reading tools first.
pub fn manager_tools() -> Vec<ToolSpec> {
    vec![
        spec::<FetchSimilar>(FETCH_SIMILAR_SKILLS, "Finds skills like this situation, in all domains."),
        spec::<ReadSkills>(READ_SKILLS, "Gives whole skills, with annotations and counters."),
        spec::<ReadReports>(READ_REPORTS, "Gives whole reports, of those that the item cuts or only names."),
        spec::<CreateDomain>(
            CREATE_DOMAIN,
            "Opens a domain for a program; the create_skill after it must be in that domain.",
        ),
        spec::<CreateSkill>(CREATE_SKILL, "Creates a skill."),
        spec::<UpdateSkill>(UPDATE_SKILL, "Changes the given parts of a skill."),
        spec::<MergeSkills>(
            MERGE_SKILLS,
            "Joins two overlapping skills into the target; the source goes away.",
        ),
        spec::<AnnotateSkill>(ANNOTATE_SKILL, "Adds a note to a skill for later reviews."),
        spec::<DeleteSkill>(DELETE_SKILL, "Takes a skill out of the book. Use it sparingly."),
        spec::<LeaveItem>(LEAVE_ITEM, "Ends the item without a change, with the reason."),
    ]
}
