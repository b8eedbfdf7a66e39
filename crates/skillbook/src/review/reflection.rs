//! The answer of a reflector: one review per received skill, and new learnings. Parsing is strict: an unknown field is
//! an error that the model can read and correct.

use apprentice_protocol::StepId;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

/// Name of the reflection schema, in requests and in publications.
pub const REFLECTION_SCHEMA: &str = "trajectory.reflection.v1";

/// How far a skill was followed by those who followed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Followed {
    /// In full.
    Yes,
    /// In part.
    Partially,
}

/// The mark of a review whose skill was not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotFollowedMark {
    /// Not at all.
    No,
}

/// The mark of a review whose skill helped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PositiveMark {
    /// It helped.
    Positive,
}

/// The mark of a review whose skill caused trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NegativeMark {
    /// It caused trouble.
    Negative,
}

/// The mark of a review whose skill changed little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeutralMark {
    /// It changed little.
    Neutral,
}

/// What is wrong with a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssueType {
    /// It says something false.
    Incorrect,
    /// It was true of another version.
    Outdated,
    /// Something needed is missing.
    Incomplete,
    /// It can be misread.
    Unclear,
}

impl IssueType {
    /// Returns the word used in notes.
    pub fn word(self) -> &'static str {
        match self {
            Self::Incorrect => "incorrect",
            Self::Outdated => "outdated",
            Self::Incomplete => "incomplete",
            Self::Unclear => "unclear",
        }
    }
}

/// Why a followed skill changed little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeutralReason {
    /// The agent knew it.
    AlreadyKnew,
    /// The task did not need it.
    NotNeeded,
    /// The gain was small.
    Marginal,
}

/// Why a skill was not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotFollowedReason {
    /// It has nothing to do with the task.
    Irrelevant,
    /// The agent knew it.
    AlreadyKnew,
    /// The agent took another way.
    ChoseAlternative,
    /// The agent did not trust it.
    SeemedWrong,
}

/// A skill that was followed and helped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillPositive {
    /// Which skill.
    pub skill_id: String,
    /// How far.
    pub followed: Followed,
    /// Always `positive`.
    pub impact: PositiveMark,
    /// How it helped.
    pub what_helped: String,
}

/// A skill that was followed and caused trouble.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillNegative {
    /// Which skill.
    pub skill_id: String,
    /// How far.
    pub followed: Followed,
    /// Always `negative`.
    pub impact: NegativeMark,
    /// What kind of fault.
    pub issue_type: IssueType,
    /// What went wrong.
    pub what_went_wrong: String,
    /// What worked instead, if found.
    #[serde(default, deserialize_with = "nonempty_text", skip_serializing_if = "Option::is_none")]
    pub corrected_guidance: Option<String>,
}

/// A skill that was followed and changed little.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillNeutral {
    /// Which skill.
    pub skill_id: String,
    /// How far.
    pub followed: Followed,
    /// Always `neutral`.
    pub impact: NeutralMark,
    /// Why.
    pub reason: NeutralReason,
    /// What would make it better.
    #[serde(default, deserialize_with = "nonempty_text", skip_serializing_if = "Option::is_none")]
    pub suggested_improvement: Option<String>,
}

/// A skill that was retrieved and not followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillNotFollowed {
    /// Which skill.
    pub skill_id: String,
    /// Always `no`.
    pub followed: NotFollowedMark,
    /// Why.
    pub reason: NotFollowedReason,
    /// In words.
    pub explanation: String,
    /// What was done instead.
    #[serde(default, deserialize_with = "nonempty_text", skip_serializing_if = "Option::is_none")]
    pub alternative_used: Option<String>,
}

/// Deserializes an optional text. An empty text counts as `None`.
fn nonempty_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.trim().is_empty()))
}

/// A review. Its kind follows from `followed` and `impact`, and is serialized as `review_type`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "review_type", rename_all = "snake_case")]
pub enum SkillReview {
    /// Followed, and it helped.
    Positive(SkillPositive),
    /// Followed, and it caused trouble.
    Negative(SkillNegative),
    /// Followed, and it changed little.
    Neutral(SkillNeutral),
    /// Not followed.
    NotFollowed(SkillNotFollowed),
}

impl SkillReview {
    /// Returns the kind in one word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Positive(_) => "positive",
            Self::Negative(_) => "negative",
            Self::Neutral(_) => "neutral",
            Self::NotFollowed(_) => "not_followed",
        }
    }

    /// Returns the reviewed skill, as the model wrote its id.
    pub fn skill_id(&self) -> &str {
        match self {
            Self::Positive(review) => &review.skill_id,
            Self::Negative(review) => &review.skill_id,
            Self::Neutral(review) => &review.skill_id,
            Self::NotFollowed(review) => &review.skill_id,
        }
    }

    /// Returns every free text, for scanning.
    pub fn texts(&self) -> Vec<&str> {
        let (first, second) = match self {
            Self::Positive(review) => (Some(&review.what_helped), None),
            Self::Negative(review) => (Some(&review.what_went_wrong), review.corrected_guidance.as_ref()),
            Self::Neutral(review) => (None, review.suggested_improvement.as_ref()),
            Self::NotFollowed(review) => (Some(&review.explanation), review.alternative_used.as_ref()),
        };
        first.into_iter().chain(second).map(String::as_str).collect()
    }
}

impl<'de> Deserialize<'de> for SkillReview {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let stated = fields.remove("review_type");
        let word = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let (followed, impact) = (word("followed"), word("impact"));
        let kind = match (followed.as_deref(), impact.as_deref()) {
            (Some("yes" | "partially"), Some("positive")) => "positive",
            (Some("yes" | "partially"), Some("negative")) => "negative",
            (Some("yes" | "partially"), Some("neutral")) => "neutral",
            (Some("no"), _) => "not_followed",
            _ => {
                return Err(de::Error::custom(
                    "a review needs \"followed\" of yes, partially or no; when followed, also \"impact\" \
                     of positive, negative or neutral",
                ));
            }
        };
        if stated.as_ref().is_some_and(|stated| stated.as_str() != Some(kind)) {
            return Err(de::Error::custom(format!(
                "review_type contradicts followed and impact: expected {kind}"
            )));
        }
        let fields = Value::Object(fields);
        match kind {
            "positive" => serde_json::from_value(fields).map(Self::Positive),
            "negative" => serde_json::from_value(fields).map(Self::Negative),
            "neutral" => serde_json::from_value(fields).map(Self::Neutral),
            _ => serde_json::from_value(fields).map(Self::NotFollowed),
        }
        .map_err(|error| de::Error::custom(format!("in a {kind} review: {error}")))
    }
}

impl JsonSchema for SkillReview {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SkillReview".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = [
            generator.subschema_for::<SkillPositive>(),
            generator.subschema_for::<SkillNegative>(),
            generator.subschema_for::<SkillNeutral>(),
            generator.subschema_for::<SkillNotFollowed>(),
        ];
        json_schema!({ "anyOf": kinds })
    }
}

/// How sure the reflector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// A guess.
    Low,
    /// Seen once, and not confirmed.
    Medium,
    /// Seen, and seen to work.
    High,
}

/// The place that a figure marks, in the picture that the agent saw at the step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FigureMark {
    /// An element of the view, as the steps name it: `button "Crop"`.
    Element {
        /// Role and name.
        element: String,
    },
    /// An element by its reference in the view.
    Reference {
        /// The reference, such as `n12`.
        reference: String,
    },
    /// A rectangle, in pixels of the screen.
    Rectangle {
        /// Left edge.
        x: i32,
        /// Top edge.
        y: i32,
        /// Width.
        width: u32,
        /// Height.
        height: u32,
    },
}

/// A part of a step's picture that a reader should see. The program cuts it out and marks the place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LearningFigure {
    /// The step whose picture is used.
    pub step: StepId,
    /// What to mark.
    pub mark: FigureMark,
    /// What the figure shows, in one line.
    pub alt: String,
    /// The number of the guidance's step that it belongs to; without one it stands below the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance_step: Option<u32>,
}

/// Knowledge from struggling before succeeding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrictionLearning {
    /// `general`, `os`, or a program's name.
    pub scope: String,
    /// When it applies; general, not of one task.
    pub situation: String,
    /// What to do, with exact paths and keys.
    pub guidance: String,
    /// How sure.
    pub confidence: Confidence,
    /// Steps lost before it was found.
    #[schemars(range(min = 1))]
    pub steps_wasted: u32,
    /// The steps that show it. A learning without any is refused.
    #[serde(default)]
    pub evidence: Vec<StepId>,
    /// Parts of the steps' pictures that a reader should see. Absent or empty where words are enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<LearningFigure>,
}

/// Knowledge found without struggling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscoveredLearning {
    /// `general`, `os`, or a program's name.
    pub scope: String,
    /// When it applies; general, not of one task.
    pub situation: String,
    /// What to do, with exact paths and keys.
    pub guidance: String,
    /// How sure.
    pub confidence: Confidence,
    /// The steps that show it. A learning without any is refused.
    #[serde(default)]
    pub evidence: Vec<StepId>,
    /// Parts of the steps' pictures that a reader should see. Absent or empty where words are enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<LearningFigure>,
}

/// A new piece of knowledge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Learning {
    /// Found the hard way.
    Friction(FrictionLearning),
    /// Noticed in passing.
    Discovered(DiscoveredLearning),
}

impl Learning {
    /// Returns `general`, `os`, or a program's name, as the model wrote it.
    pub fn scope(&self) -> &str {
        match self {
            Self::Friction(learning) => &learning.scope,
            Self::Discovered(learning) => &learning.scope,
        }
    }

    /// Returns the situation in which it applies.
    pub fn situation(&self) -> &str {
        match self {
            Self::Friction(learning) => &learning.situation,
            Self::Discovered(learning) => &learning.situation,
        }
    }

    /// Returns the instructions.
    pub fn guidance(&self) -> &str {
        match self {
            Self::Friction(learning) => &learning.guidance,
            Self::Discovered(learning) => &learning.guidance,
        }
    }

    /// Returns how sure the reflector is.
    pub fn confidence(&self) -> Confidence {
        match self {
            Self::Friction(learning) => learning.confidence,
            Self::Discovered(learning) => learning.confidence,
        }
    }

    /// Returns the steps that support it.
    pub fn evidence(&self) -> &[StepId] {
        match self {
            Self::Friction(learning) => &learning.evidence,
            Self::Discovered(learning) => &learning.evidence,
        }
    }

    /// Returns the figures that it asks for.
    pub fn figures(&self) -> &[LearningFigure] {
        match self {
            Self::Friction(learning) => &learning.figures,
            Self::Discovered(learning) => &learning.figures,
        }
    }

    /// Returns every free text.
    pub fn texts(&self) -> Vec<&str> {
        let figures = self.figures().iter().flat_map(|figure| {
            let element = match &figure.mark {
                FigureMark::Element { element } => Some(element.as_str()),
                FigureMark::Reference { reference } => Some(reference.as_str()),
                FigureMark::Rectangle { .. } => None,
            };
            element.into_iter().chain([figure.alt.as_str()])
        });
        [self.situation(), self.guidance()].into_iter().chain(figures).collect()
    }

    /// Replaces confidence and evidence, after they were compared with the trace.
    pub fn adjust_confidence(&mut self, confidence: Confidence, evidence: Vec<StepId>) {
        match self {
            Self::Friction(learning) => {
                learning.confidence = confidence;
                learning.evidence = evidence;
            }
            Self::Discovered(learning) => {
                learning.confidence = confidence;
                learning.evidence = evidence;
            }
        }
    }
}

/// The whole answer. Empty lists are a good answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrajectoryReflection {
    /// Exactly one per skill retrieved.
    #[serde(default)]
    pub skill_reviews: Vec<SkillReview>,
    /// New knowledge.
    #[serde(default)]
    pub new_learnings: Vec<Learning>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{SkillReview, TrajectoryReflection};

    fn check(value: serde_json::Value, expected: Result<&str, &str>) {
        let read = serde_json::from_value::<TrajectoryReflection>(value);
        match (read, expected) {
            (Ok(reflection), Ok(kind)) => {
                let written = serde_json::to_value(&reflection).expect("writes");
                assert_eq!(written["skill_reviews"][0]["review_type"], kind);
                assert_eq!(
                    serde_json::from_value::<TrajectoryReflection>(written).expect("reads"),
                    reflection
                );
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (read, expected) => panic!("{read:?} is not {expected:?}"),
        }
    }

    #[test]
    fn a_review_is_known_by_followed_and_impact() {
        let review = |value| json!({ "skill_reviews": [value] });
        check(
            review(json!({"skill_id":"a/b","followed":"partially","impact":"positive","what_helped":"menu"})),
            Ok("positive"),
        );
        check(
            review(json!({"skill_id":"a/b","followed":"no","reason":"irrelevant","explanation":"x"})),
            Ok("not_followed"),
        );
        check(
            review(
                json!({"skill_id":"a/b","followed":"yes","impact":"neutral","reason":"marginal","more":1}),
            ),
            Err("unknown field `more`"),
        );
        check(review(json!({"skill_id":"a/b","followed":"yes"})), Err("impact"));
        check(
            review(json!({"skill_id":"a/b","followed":"no","impact":"positive","what_helped":"x"})),
            Err("not_followed review"),
        );
        check(json!({"skill_reviews":[],"notes":1}), Err("unknown field `notes`"));
    }

    #[test]
    fn a_stated_kind_must_agree() {
        let value = json!({"review_type":"negative","skill_id":"a/b","followed":"yes","impact":"positive","what_helped":"x"});
        assert!(serde_json::from_value::<SkillReview>(value).is_err());
    }
}
