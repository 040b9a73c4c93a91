//! How a Job ended.

use k8s_openapi::{api::batch::v1::Job, apimachinery::pkg::apis::meta::v1::Time};

pub(crate) enum Outcome {
    Runs,
    Complete(Option<Time>),
    Failed(String),
}

pub(crate) fn outcome(job: &Job) -> Outcome {
    let Some(status) = &job.status else { return Outcome::Runs };
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let is = |type_: &str| conditions.iter().find(|it| it.type_ == type_ && it.status == "True");
    match (is("Complete"), is("Failed")) {
        (Some(_), _) => Outcome::Complete(status.completion_time.clone()),
        (_, Some(failed)) => {
            Outcome::Failed(failed.message.clone().unwrap_or_else(|| "the Job failed".to_owned()))
        }
        _ => Outcome::Runs,
    }
}
