//! A certificate: what a measurement showed of a skill, small enough to lie beside it. Nobody has to believe it: it names the bundle
//! of the measurement by its hash, and is made again from that bundle.
//!
//! It holds for the releases of the programs with which it was measured, and expires with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use apprentice_protocol::SkillId;
use apprentice_results::report::HarmCell;
use apprentice_results::stats::MIN_TEMPLATES;
use apprentice_skillbook::is_same_release;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::offer::Offer;
use super::page::conclusion;
use super::schema::{ArmLine, Conclusion, Effect, ScreeningResult, SkillPage};

/// Schema name of a certificate.
pub const CERTIFICATE_SCHEMA: &str = "apprentice.skill-certificate/1";
/// Largest size of a certificate's file, in bytes.
pub const MAX_CERTIFICATE_BYTES: usize = 20_000;

/// What is signed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// [`CERTIFICATE_SCHEMA`].
    pub schema: String,
    /// The skill's name.
    pub skill: String,
    /// The skills that were lent.
    pub skills: BTreeSet<SkillId>,
    /// SHA-256 over the package's files; `None` for a book.
    pub package: Option<String>,
    /// Content hash of what was lent.
    pub book_hash: String,
    /// The tasks.
    pub tasks: String,
    /// Their hash.
    pub tasks_hash: String,
    /// The models that got the skill.
    pub models: Vec<String>,
    /// How it was offered to them.
    #[serde(default)]
    pub offer: Offer,
    /// The model that judged statements.
    pub judge: Option<String>,
    /// The versions of the programs, for which it holds.
    pub programs: BTreeMap<String, BTreeSet<String>>,
    /// What follows.
    pub conclusion: Conclusion,
    /// Evaluations with a result.
    pub evals: usize,
    /// The arms.
    pub arms: Vec<ArmLine>,
    /// The skill against the placebo.
    pub against_placebo: Effect,
    /// The skill against nothing.
    pub against_none: Option<Effect>,
    /// Evaluations lost, and won.
    pub lost: usize,
    /// Evaluations that were won.
    pub won: usize,
    /// Harm by program.
    pub harm: Vec<HarmCell>,
    /// What the screening said.
    pub screening: ScreeningResult,
    /// The day of the measurement.
    pub date: Option<String>,
    /// The program's version.
    pub program: String,
    /// SHA-256 of the bundle from which it can be made again.
    pub bundle: String,
}

/// The file: a certificate with its signature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedCertificate {
    /// What is signed.
    pub certificate: Certificate,
    /// OpenSSH's signature over the certificate as compact JSON, in its armoured form.
    pub signature: String,
}

/// The reason why a file is no certificate, or why none is given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// There is no verdict to certify.
    #[error("there is no verdict, and so nothing to certify: {0}")]
    NoVerdict(String),
    /// It is too large.
    #[error("a certificate has at most {MAX_CERTIFICATE_BYTES} bytes, and this has {0}")]
    TooLarge(usize),
    /// It is no certificate.
    #[error("this is no certificate: {0}")]
    Form(String),
    /// What it says does not go together.
    #[error("the certificate contradicts itself: {0}")]
    Contradiction(String),
}

impl Certificate {
    /// Makes the certificate of a measurement.
    ///
    /// # Errors
    /// The measurement gave no verdict.
    pub fn of(page: &SkillPage, bundle: String) -> Result<Self, CertificateError> {
        let against_placebo = match (&page.against_placebo, page.conclusion) {
            (Some(effect), Conclusion::Helps | Conclusion::Harms | Conclusion::NoDifference) => {
                effect.clone()
            }
            (effect, _) => {
                let why = effect.as_ref().map_or("nothing was compared", |effect| &effect.because);
                return Err(CertificateError::NoVerdict(why.to_owned()));
            }
        };
        let skill = &page.skill;
        Ok(Self {
            schema: CERTIFICATE_SCHEMA.to_owned(),
            skill: skill.name.clone(),
            skills: skill.skills.clone(),
            package: skill.package.clone(),
            book_hash: page.book_hash.clone(),
            tasks: skill.tasks.clone(),
            tasks_hash: skill.tasks_hash.clone(),
            models: vec![page.model.clone()],
            offer: page.offer,
            judge: page.judge.clone(),
            programs: page.programs.clone(),
            conclusion: page.conclusion,
            evals: page.evals,
            arms: page.arms.clone(),
            against_placebo,
            against_none: page.against_none.clone(),
            lost: page.lost.len(),
            won: page.won.len(),
            harm: page.harm.clone(),
            screening: skill.screening.clone(),
            date: page.date.clone(),
            program: page.program.clone(),
            bundle,
        })
    }

    /// The bytes that are signed.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn to_signed_bytes(&self) -> Result<Vec<u8>, CertificateError> {
        serde_json::to_vec(self).map_err(|error| CertificateError::Form(error.to_string()))
    }

    /// Checks what it says against itself.
    ///
    /// # Errors
    /// It is of another schema, or its conclusion does not follow from its numbers.
    pub fn check(&self) -> Result<(), CertificateError> {
        let wrong = |why: &str| Err(CertificateError::Contradiction(why.to_owned()));
        if self.schema != CERTIFICATE_SCHEMA {
            return Err(CertificateError::Form(format!("its schema is {:?}", self.schema)));
        }
        if self.evals < MIN_TEMPLATES || self.evals != self.against_placebo.evals {
            return wrong("the number of evaluations gives no verdict, or is not that of the comparison");
        }
        if conclusion(Some(&self.against_placebo), self.against_none.as_ref()) != self.conclusion {
            return wrong("the conclusion does not follow from the comparisons");
        }
        let is_share = |value: f64| (-1.0..=1.0).contains(&value);
        let effects = [Some(&self.against_placebo), self.against_none.as_ref()];
        for effect in effects.into_iter().flatten() {
            let inside = effect.difference.zip(effect.ci95).is_none_or(|(difference, ci)| {
                let ordered = ci.low <= difference && difference <= ci.high;
                ordered && [ci.low, difference, ci.high].into_iter().all(is_share)
            });
            if !inside {
                return wrong("a difference lies outside of its interval");
            }
        }
        if self.arms.iter().any(|arm| arm.passed > arm.judged) {
            return wrong("an arm passed more attempts than it has");
        }
        Ok(())
    }

    /// The names of the fields in which another certificate differs.
    pub fn differing(&self, other: &Self) -> Vec<String> {
        let fields = |one: &Self| serde_json::to_value(one).unwrap_or(Value::Null);
        let (one, other) = (fields(self), fields(other));
        let names: BTreeSet<&String> =
            [&one, &other].into_iter().filter_map(Value::as_object).flat_map(|map| map.keys()).collect();
        names.into_iter().filter(|name| one.get(name.as_str()) != other.get(name.as_str())).cloned().collect()
    }

    /// The programs whose release today is another than those with which it was measured. `today` are versions by program;
    /// programs that it does not name are not asked about.
    pub fn expired(&self, today: &BTreeMap<String, String>) -> Vec<String> {
        let moved = |(name, now): (&String, &String)| {
            let known = self.programs.get(name)?;
            let same = known.iter().any(|version| is_same_release(version, now));
            (!same).then(|| {
                let known = known.iter().cloned().collect::<Vec<_>>().join(", ");
                format!("{name} is {now}, and was {known}")
            })
        };
        today.iter().filter_map(moved).collect()
    }

    /// The line for a README.
    pub fn badge(&self, file: &str) -> String {
        let (word, colour) = match self.conclusion {
            Conclusion::Helps => ("helps", "brightgreen"),
            Conclusion::Harms => ("harms", "red"),
            Conclusion::NoDifference => ("no_difference", "lightgrey"),
            Conclusion::NoVerdict => ("no_verdict", "lightgrey"),
        };
        let points = self.against_placebo.difference.unwrap_or_default() * 100.0;
        let models = self.models.join(", ");
        format!(
            "[![skill measured: {word}](https://img.shields.io/badge/skill_measured-{word}-{colour})]({file}) {points:+.0} points against \
             a placebo, {} evaluations, {models}",
            self.evals
        )
    }

    /// The page of it.
    pub fn text(&self) -> String {
        let mut text = format!("# Certificate of a measurement: {}\n\n", self.skill);
        let conclusion = match self.conclusion {
            Conclusion::Helps => "it helps",
            Conclusion::Harms => "it does harm",
            Conclusion::NoDifference => "no difference was shown",
            Conclusion::NoVerdict => "no verdict",
        };
        let models = self.models.join(", ");
        let _ = writeln!(text, "**With {models}: {conclusion}.**\n");
        let _ = writeln!(text, "- The model got {}", self.offer.words());
        for effect in [Some(&self.against_placebo), self.against_none.as_ref()].into_iter().flatten() {
            let other =
                if effect.against == "none" { "nothing" } else { "an unrelated text of the same length" };
            let amount =
                effect.difference.zip(effect.ci95).map_or("not measured".to_owned(), |(mean, ci)| {
                    let points = |share: f64| format!("{:+.0}", share * 100.0);
                    format!(
                        "{} points (95 % interval {} to {})",
                        points(mean),
                        points(ci.low),
                        points(ci.high)
                    )
                });
            let _ = writeln!(text, "- Against {other}: {amount}, {} evaluations", effect.evals);
        }
        for arm in &self.arms {
            let _ = writeln!(text, "- {}: {} of {} attempts passed", arm.words, arm.passed, arm.judged);
        }
        let _ = writeln!(text, "- Evaluations won: {}, lost: {}", self.won, self.lost);
        for cell in self.harm.iter().filter(|cell| cell.alarm) {
            let _ = writeln!(
                text,
                "- It may do harm with {}: {} lost, {} won",
                cell.program, cell.lost, cell.gained
            );
        }
        let programs: Vec<String> = self
            .programs
            .iter()
            .map(|(name, versions)| {
                format!("{name} {}", versions.iter().cloned().collect::<Vec<_>>().join(", "))
            })
            .collect();
        let _ =
            writeln!(text, "- It holds for these releases, and expires with them: {}", programs.join("; "));
        let _ = writeln!(text, "- Tasks: {} (SHA-256 {})", self.tasks, self.tasks_hash);
        let judge = self.judge.as_deref().unwrap_or("none");
        let _ = writeln!(text, "- Judge: {judge}. Measured: {}", self.date.as_deref().unwrap_or("unknown"));
        let _ = writeln!(text, "- Package: SHA-256 {}", self.package.as_deref().unwrap_or("none"));
        let _ = writeln!(text, "- Bundle: SHA-256 {}", self.bundle);
        text +=
            "\nMake it again from the bundle: `apprentice skills certificate verify FILE --bundle BUNDLE`\n";
        text
    }
}

impl SignedCertificate {
    /// Reads a certificate's file.
    ///
    /// # Errors
    /// It is too large, is no certificate, or contradicts itself.
    pub fn read(bytes: &[u8]) -> Result<Self, CertificateError> {
        if bytes.len() > MAX_CERTIFICATE_BYTES {
            return Err(CertificateError::TooLarge(bytes.len()));
        }
        let signed: Self =
            serde_json::from_slice(bytes).map_err(|error| CertificateError::Form(error.to_string()))?;
        signed.certificate.check()?;
        Ok(signed)
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// It is too large for a certificate.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CertificateError> {
        let mut bytes =
            serde_json::to_vec_pretty(self).map_err(|error| CertificateError::Form(error.to_string()))?;
        bytes.push(b'\n');
        match bytes.len() > MAX_CERTIFICATE_BYTES {
            true => Err(CertificateError::TooLarge(bytes.len())),
            false => Ok(bytes),
        }
    }
}
