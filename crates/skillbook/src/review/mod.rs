//! The reflection on an attempt, as the log keeps it: reviews of received skills, and new learnings.

mod checked;
mod mode;
mod reflection;

pub use checked::{Checked, Dropped};
pub use mode::{Fallback, ReflectMode};
pub use reflection::{
    Confidence, DiscoveredLearning, FigureMark, Followed, FrictionLearning, IssueType, Learning,
    LearningFigure, NegativeMark, NeutralMark, NeutralReason, NotFollowedMark, NotFollowedReason,
    PositiveMark, REFLECTION_SCHEMA, SkillNegative, SkillNeutral, SkillNotFollowed, SkillPositive,
    SkillReview, TrajectoryReflection,
};
