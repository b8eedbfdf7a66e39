//! Has a model compare an attempt's answer with the references of its check, where upstream asks one. What it says is
//! evidence: it is asked for once, and the check is graded from it like from any other evidence.

use std::sync::Arc;
use std::time::Duration;

use apprentice_model_json::{append_user_message, json_of};
use apprentice_protocol::{
    BoundedText, ChatModel, ChatReply, ChatRequest, Content, Message, NamedSchema, Prompt, Purpose,
    ReplyStop, TextBudget, Usage,
};
use apprentice_runs::row::JudgeUse;
use apprentice_tasks::check::{
    AnswerComparison, AnswerJudgement, AnswerOutcome, AnswerQuestion, AnswerVerdict, Evidence, JudgeInput,
    open_question,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trial_identity::hashed;

const ANSWER: Prompt = Prompt::new("judge/answer", include_str!("prompts/answer.md"), &[]);
const REASON: Prompt = Prompt::new("judge/reason", include_str!("prompts/reason.md"), &[]);
const STATEMENT: Prompt = Prompt::new("judge/statement", include_str!("prompts/statement.md"), &[]);
const OUTPUT: Prompt = Prompt::new("judge/output", include_str!("prompts/output.md"), &[]);
/// The prompts of the model that compares answers.
pub const PROMPTS: [Prompt; 4] = [ANSWER, REASON, STATEMENT, OUTPUT];

const QUESTION_SCHEMA: &str = "answer.question.v1";
const VERDICT_SCHEMA: &str = "answer.verdict.v1";
/// Largest lengths in characters: of what the model is told, and of what is kept of its replies.
const TASK: TextBudget = TextBudget(4000);
const GIVEN_ANSWER: TextBudget = TextBudget(6000);
const FILES: TextBudget = TextBudget(16_000);
const OTHER: TextBudget = TextBudget(400);
const REPLY: TextBudget = TextBudget(2000);
const WHY: TextBudget = TextBudget(600);
/// A longer reference is not compared: a cut one would be another one.
const REFERENCE: usize = 4000;
/// Largest number of other references.
const OTHERS: usize = 40;
/// Largest number of output tokens of a reply.
pub const MAX_OUTPUT_TOKENS: u32 = 1500;
/// Number of replies that may be unreadable before the model is given up.
const TRIES: usize = 3;
/// How long all replies to one question may take. The calls themselves have shorter deadlines, and retries.
const DEADLINE: Duration = Duration::from_secs(1800);

/// A model that compares answers.
#[derive(Clone)]
pub struct AnswerJudge {
    /// The name by which the user knows it.
    pub name: String,
    /// The model.
    pub model: Arc<dyn ChatModel>,
}

/// The question as one JSON block.
#[derive(Serialize)]
struct Block<'a> {
    schema: &'static str,
    task: &'a str,
    reference: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_references: Option<Vec<String>>,
    answer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'a str>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    reason: String,
    verdict: AnswerVerdict,
}

/// Returns the hash of the prompts by which models compare answers.
pub fn judge_prompt_hash() -> String {
    hashed(&PROMPTS.map(|prompt| (prompt.name, prompt.text())))
}

/// Returns the request that asks a question about the answer to a task.
pub fn judge_request(task: &str, question: &AnswerQuestion) -> Result<ChatRequest, serde_json::Error> {
    let (prompt, others) = match question.compare {
        AnswerComparison::MeansReference => (ANSWER, Some(&question.others)),
        AnswerComparison::SameReason => (REASON, None),
        AnswerComparison::Holds => (STATEMENT, None),
        AnswerComparison::Output => (OUTPUT, None),
    };
    let answer = match question.compare {
        // Its length is bounded where the question is made: a part of it would be other evidence.
        AnswerComparison::Output => question.answer.clone(),
        _ => cut(&question.answer, GIVEN_ANSWER),
    };
    let files = cut(&question.files, FILES);
    let block = Block {
        schema: QUESTION_SCHEMA,
        task: &cut(task, TASK),
        reference: &question.reference,
        other_references: others.map(|all| all.iter().take(OTHERS).map(|one| cut(one, OTHER)).collect()),
        answer: &answer,
        files: (question.compare == AnswerComparison::Holds).then_some(files.as_str()),
    };
    // Line breaks are escaped in JSON, so that no answer can close the fence.
    let block = serde_json::to_string_pretty(&block)?;
    let schema = schemars::schema_for!(Answer).to_value();
    Ok(ChatRequest {
        purpose: Purpose::Judge,
        system: prompt.text().to_owned(),
        messages: vec![Message::User {
            content: vec![Content::text(format!("The case:\n\n```json\n{block}\n```\n"))],
        }],
        schema: Some(NamedSchema { name: VERDICT_SCHEMA.to_owned(), schema }),
        max_output_tokens: MAX_OUTPUT_TOKENS,
        ..ChatRequest::default()
    })
}

impl AnswerJudge {
    /// Has the model compare what the evidence cannot be graded without, and adds what it says. `task` is the instruction
    /// that the agent got. Returns what the new judgements took; `None` if there was nothing to ask.
    pub async fn complete(
        &self,
        task: &str,
        asked: &JudgeInput,
        evidence: &mut Evidence,
    ) -> Option<JudgeUse> {
        let known = evidence.judgements.len();
        while let Some(question) = open_question(&asked.spec, evidence, &asked.ending, asked.compat) {
            evidence.judgements.push(self.compare(task, question).await);
        }
        judge_use(&evidence.judgements[known..])
    }

    /// Has the model compare one answer. A model that fails, refuses or cannot be read decides nothing. Dropping the future
    /// cancels it.
    pub async fn compare(&self, task: &str, question: AnswerQuestion) -> AnswerJudgement {
        let mut judgement = AnswerJudgement {
            question,
            task: task.to_owned(),
            outcome: AnswerOutcome::Undecided { why: String::new() },
            model: self.name.clone(),
            provider_model: None,
            prompt_hash: judge_prompt_hash(),
            replies: Vec::new(),
            tokens: Usage::default(),
            cost_usd: None,
        };
        let outcome = match tokio::time::timeout(DEADLINE, self.ask(&mut judgement)).await {
            Ok(Ok((verdict, reason))) => AnswerOutcome::Decided { verdict, reason },
            Ok(Err(why)) => AnswerOutcome::Undecided { why: cut(&why, WHY) },
            Err(_) => AnswerOutcome::Undecided { why: format!("it took more than {} s", DEADLINE.as_secs()) },
        };
        AnswerJudgement { outcome, ..judgement }
    }

    /// Asks up to [`TRIES`] times, and records each reply.
    async fn ask(&self, judgement: &mut AnswerJudgement) -> Result<(AnswerVerdict, String), String> {
        let length = judgement.question.reference.chars().count();
        if length > REFERENCE {
            return Err(format!("the reference has {length} characters; a judge gets at most {REFERENCE}"));
        }
        let mut request =
            judge_request(&judgement.task, &judgement.question).map_err(|error| error.to_string())?;
        let mut problem = String::new();
        for _ in 0..TRIES {
            let reply = self.model.reply(&request).await.map_err(|error| error.to_string())?;
            record(judgement, &reply);
            if reply.stop == ReplyStop::Refusal {
                return Err("it refused to answer".to_owned());
            }
            match read(&reply.say.join("\n")) {
                Ok(Answer { reason, verdict }) => return Ok((verdict, reason)),
                Err(found) => problem = found,
            }
            let words = format!(
                "This answer cannot be used: {problem}. Answer with the JSON object and nothing else."
            );
            request.messages.push(Message::Assistant { raw: reply.raw, say: reply.say, calls: reply.calls });
            append_user_message(&mut request, Content::text(words), "nothing can be called");
        }
        Err(format!("no readable answer in {TRIES} tries; the last problem: {problem}"))
    }
}

/// Adds up what judgements took; `None` without any.
pub fn judge_use(judgements: &[AnswerJudgement]) -> Option<JudgeUse> {
    let last = judgements.last()?;
    let mut all = JudgeUse { model: last.model.clone(), ..JudgeUse::default() };
    for one in judgements {
        all.questions = all.questions.saturating_add(1);
        all.tokens += one.tokens;
        all.provider_model = one.provider_model.clone().or(all.provider_model);
        if let Some(cost) = one.cost_usd {
            *all.cost_usd.get_or_insert(0.0) += cost;
        }
    }
    Some(all)
}

fn record(judgement: &mut AnswerJudgement, reply: &ChatReply) {
    judgement.replies.push(cut(&reply.say.join("\n"), REPLY));
    judgement.tokens += reply.usage;
    judgement.provider_model = reply.provider_model.clone().or(judgement.provider_model.take());
    if let Some(cost) = reply.cost_usd {
        *judgement.cost_usd.get_or_insert(0.0) += cost;
    }
}

fn read(said: &str) -> Result<Answer, String> {
    let object = json_of(said).ok_or("the answer holds no JSON object")?;
    let Answer { reason, verdict } = serde_json::from_str(object)
        .map_err(|error| cut(&format!("the answer does not fit the schema: {error}"), WHY))?;
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    match reason.is_empty() {
        true => Err("the reason is empty".to_owned()),
        false => Ok(Answer { reason: cut(&reason, WHY), verdict }),
    }
}

fn cut(text: &str, budget: TextBudget) -> String {
    BoundedText::cut(text, budget).as_str().to_owned()
}
