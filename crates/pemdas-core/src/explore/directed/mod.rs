//! Directed accidents: one small world for each sentence of the rules, without chance.

mod brake;
mod clauses;
mod contradictions;
mod lost;
mod memory;
mod need;
mod objects;
mod order;
mod refused;
mod removal;
mod report;
mod shapes;
mod told;

use crate::explore::lab::{Lab, key, kind};
use crate::explore::sim::Sim;
use crate::plan::tests::what_has_no_members_is_needed_all_the_same;
use crate::world::Fact;
use brake::{
    a_brake_on_the_blueprint_holds_every_instance, a_deletion_waits_for_the_brake, drift_waits_for_the_brake,
    what_is_suspended_writes_nothing_but_its_report,
};
use clauses::{
    a_computed_name_is_asked_alone, a_contract_is_asked_of_the_evaluator,
    a_deletion_that_takes_too_long_asks_a_human, a_first_key_may_be_a_baseline,
    a_human_lets_the_old_one_go_first, a_kind_that_reports_no_generation_may_say_so,
    a_late_name_is_known_with_its_inputs, a_once_is_retried_as_often_as_it_says,
    a_report_is_copied_into_the_status, a_root_that_breaks_its_contract_is_left_as_it_is,
    a_shape_that_fails_is_told_and_closes_no_edge, a_state_may_be_part_of_the_deletion,
    a_status_is_what_its_author_says, a_time_changes_only_with_what_it_speaks_of, a_value_is_passed_on,
    a_yielded_field_is_left_to_its_owner, an_authors_condition_lowers_ready_and_never_raises_it,
    an_object_of_the_cluster_has_no_namespace, having_limits_what_is_kept_away,
    the_number_of_replicas_is_left_to_an_autoscaler, what_a_server_makes_of_a_status_is_not_fought,
    what_was_refused_otherwise_is_deleted_all_the_same, with_each_a_member_waits_for_its_own,
};
use contradictions::{
    a_claim_of_an_unknown_node_and_revision_is_removed_as_any_other, a_forged_claim_reclaims_nothing,
    a_forged_claim_under_a_wanted_name_is_a_conflict,
    a_ledger_that_cannot_be_read_is_told_and_blocks_no_deletion,
    an_instance_without_a_revision_that_runs_is_told,
    an_object_in_the_way_of_a_template_that_reads_everything_is_told,
    an_old_ledger_that_cannot_be_read_is_told, what_has_no_genuine_claim_is_ignored,
    what_is_ignored_is_reported_once,
};
use lost::{
    a_forged_mark_gives_no_ledger, a_human_may_begin_anew_once,
    a_ledger_that_went_meanwhile_is_written_again, a_list_that_is_older_than_the_root_is_no_loss,
    a_restored_root_asks_for_its_memory, a_root_that_is_left_says_nothing_of_a_ledger,
    what_ran_does_not_run_again_without_a_ledger, what_was_generated_stays_without_a_ledger,
};
use memory::{
    a_failure_is_resumed_once, a_failure_opens_the_edges_that_want_it, a_job_that_is_deleted_is_not_rerun,
    a_schema_change_drains_migrates_and_serves, an_attempt_returns_only_to_states_that_it_comes_after,
    an_unfinished_attempt_is_waited_for, an_unknown_key_keeps_the_last,
    cleanup_neither_loses_nor_reruns_a_job, each_attempt_has_a_name_of_its_own,
};
use need::{
    what_is_needed_is_found_whatever_the_names, what_is_needed_late_is_made_and_goes,
    what_only_the_unneeded_needs_is_not_waited_for,
};
use objects::{
    a_closed_edge_holds_and_repairs, a_closed_edge_keeps_the_members,
    a_collection_that_cannot_be_seen_deletes_nothing, a_field_that_does_not_stay_is_told,
    a_field_that_was_ours_is_taken_back, a_fight_ends_stalled,
    a_generation_that_was_not_observed_is_not_ready, a_new_desired_takes_nothing,
    a_selector_picks_in_the_namespace_that_it_says, a_terminating_object_is_left_alone,
    an_absence_comes_after_what_it_waits_for, an_edge_needs_a_settled_precursor,
    an_object_in_the_way_is_not_touched, an_object_that_appears_meanwhile_is_not_touched,
    an_unknown_condition_keeps_and_holds, depth_takes_as_many_rounds, drift_is_put_right_by_force,
    nothing_is_removed_while_members_are_unknown, what_a_server_does_not_keep_is_not_sent_again,
    what_a_server_keeps_again_is_repaired, what_an_object_says_of_its_generation_is_believed,
    what_another_instance_claims_is_not_touched,
    what_comes_back_again_and_again_is_deleted_with_a_growing_pause,
    what_goes_away_again_and_again_is_made_with_a_growing_pause, what_is_looked_up_is_not_looked_up_again,
};
use order::{
    a_condition_that_waits_for_a_name_holds_nobody_else, a_once_that_has_ended_passes_the_order_on,
    a_once_without_an_object_passes_the_order_on, a_state_passes_the_order_on,
    an_absence_passes_the_order_on, what_has_no_members_passes_the_order_on,
    what_is_not_needed_does_not_pass_on_what_it_waits_for, what_is_not_needed_passes_the_order_on,
    what_picks_nothing_passes_the_order_on, what_was_scaled_up_in_order_is_scaled_down_in_order,
};
use refused::{
    a_definition_without_conditions_is_not_fought, a_deletion_that_is_refused_holds_the_root,
    a_kind_that_may_not_be_seen_holds_the_root, a_ledger_that_is_refused_again_and_again_stalls,
    fields_that_a_definition_drops_are_told, giving_up_an_object_skips_no_node_of_the_deletion,
    what_is_given_up_by_name_is_left, what_is_refused_again_and_again_stalls,
};
use removal::{
    a_broken_blueprint_blocks_no_removal_and_skips_nothing,
    a_deletion_does_not_wait_for_conditions_that_are_not_its_own, a_deletion_without_order_ends,
    a_late_answer_brings_no_root_back, a_list_of_an_earlier_lease_does_not_count,
    a_one_off_that_ended_uses_nothing, a_renamed_node_keeps_its_object,
    a_replacement_is_ready_before_the_old_goes, a_root_deleted_without_its_objects_leaves_them,
    a_terminating_namespace_ends, an_attempt_makes_what_comes_later_due, an_order_of_removal_may_come_and_go,
    edges_may_leave_the_removal_open, objects_of_a_root_that_was_not_seen_going_are_left,
    the_finalizer_comes_first, the_nodes_of_the_deletion_run_first,
    what_holds_a_root_for_another_blueprint_stays_on, what_holds_the_root_of_another_stays_on,
    what_is_to_stay_stays, what_the_garbage_collector_takes_is_left_to_it, with_before_the_old_goes_first,
};
use report::{
    a_failure_of_an_older_generation_is_not_told, a_gate_waits_for_a_human,
    a_refused_write_to_the_root_waits, a_restored_root_takes_its_objects_back_when_told,
    a_seed_is_recorded_before_it_is_used, a_template_that_never_settles_is_told,
    a_write_that_was_not_seen_holds_removal, all_members_are_waited_for, an_error_is_told,
    an_immutable_change_is_told_or_made_anew, leaving_the_selector_removes, old_records_are_not_acted_on,
    older_edges_give_way_in_a_circle, our_own_status_changes_nothing, the_order_of_facts_does_not_matter,
    the_status_is_written_once_a_second, the_why_leads_to_the_root_cause,
    waiting_for_absence_looks_at_the_object, what_is_observed_is_read_and_never_written,
};
use serde_json::Value;
use shapes::{
    a_node_may_observe_an_object_for_each_member, a_shape_may_read_the_object_that_it_is_about,
    an_edge_that_allows_absence_does_not_wait_for_an_object,
};
use told::{
    a_function_of_the_status_that_fails_is_told, a_removal_that_is_held_up_is_told,
    an_author_who_lowers_ready_is_quoted, an_unknown_field_is_told_and_hardly_tried_again,
    what_a_server_drops_is_told_once,
};

#[expect(clippy::needless_pass_by_value, reason = "a literal at every call")]
fn at_rest(labs: &[Lab], spec: Value) -> Sim {
    let mut sim = Sim::new(labs, &spec);
    assert!(sim.settle(), "it does not come to rest");
    assert!(sim.is_ready(), "not ready: {:?} {:?}", sim.stalled(), sim.decision);
    clean(&sim);
    sim
}

fn clean(sim: &Sim) {
    assert!(sim.violations.is_empty(), "{:?}", sim.violations);
}

fn rounds(sim: &mut Sim, count: usize) {
    for _ in 0..count {
        sim.round();
        sim.world.learn(Fact::Now(sim.world.now + 1_000));
    }
    clean(sim);
}

fn v(sim: &Sim, kind_name: &str, name: &str) -> Value {
    sim.live(&key(kind_name, name)).map_or(Value::Null, |it| it.body["spec"]["v"].clone())
}

fn there(sim: &Sim, kind_name: &str, name: &str) -> bool {
    sim.live(&key(kind_name, name)).is_some()
}

fn stalled(sim: &Sim, word: &str) -> bool {
    sim.stalled().iter().any(|it| it.contains(word))
}

fn delete_root(sim: &mut Sim) {
    let root = sim.cluster.root.clone();
    sim.cluster.delete(&root);
}

fn jobs(sim: &Sim) -> Vec<crate::world::ObjectKey> {
    sim.cluster.objects.keys().filter(|it| it.kind == kind("Job")).cloned().collect()
}

macro_rules! properties {
    ($($name:ident,)*) => {
        /// Every directed accident, by name.
        pub(super) const DIRECTED: &[(&str, fn())] = &[$((stringify!($name), $name),)*];
        mod tests {
            $(#[test] fn $name() { super::$name(); })*
        }
    };
}

properties! {
    depth_takes_as_many_rounds,
    drift_is_put_right_by_force,
    a_fight_ends_stalled,
    a_new_desired_takes_nothing,
    a_field_that_was_ours_is_taken_back,
    what_a_server_does_not_keep_is_not_sent_again,
    what_a_server_keeps_again_is_repaired,
    a_field_that_does_not_stay_is_told,
    what_goes_away_again_and_again_is_made_with_a_growing_pause,
    what_comes_back_again_and_again_is_deleted_with_a_growing_pause,
    an_object_in_the_way_is_not_touched,
    an_object_that_appears_meanwhile_is_not_touched,
    what_another_instance_claims_is_not_touched,
    what_is_looked_up_is_not_looked_up_again,
    an_absence_comes_after_what_it_waits_for,
    an_unknown_condition_keeps_and_holds,
    nothing_is_removed_while_members_are_unknown,
    a_closed_edge_keeps_the_members,
    a_collection_that_cannot_be_seen_deletes_nothing,
    a_selector_picks_in_the_namespace_that_it_says,
    a_generation_that_was_not_observed_is_not_ready,
    what_an_object_says_of_its_generation_is_believed,
    an_edge_needs_a_settled_precursor,
    a_terminating_object_is_left_alone,
    a_closed_edge_holds_and_repairs,
    cleanup_neither_loses_nor_reruns_a_job,
    a_failure_is_resumed_once,
    a_failure_opens_the_edges_that_want_it,
    a_job_that_is_deleted_is_not_rerun,
    an_attempt_returns_only_to_states_that_it_comes_after,
    an_unfinished_attempt_is_waited_for,
    each_attempt_has_a_name_of_its_own,
    an_unknown_key_keeps_the_last,
    a_schema_change_drains_migrates_and_serves,
    a_renamed_node_keeps_its_object,
    an_attempt_makes_what_comes_later_due,
    a_replacement_is_ready_before_the_old_goes,
    with_before_the_old_goes_first,
    what_holds_a_root_for_another_blueprint_stays_on,
    what_holds_the_root_of_another_stays_on,
    the_finalizer_comes_first,
    the_nodes_of_the_deletion_run_first,
    a_broken_blueprint_blocks_no_removal_and_skips_nothing,
    a_terminating_namespace_ends,
    what_is_to_stay_stays,
    what_the_garbage_collector_takes_is_left_to_it,
    edges_may_leave_the_removal_open,
    a_root_deleted_without_its_objects_leaves_them,
    objects_of_a_root_that_was_not_seen_going_are_left,
    a_list_of_an_earlier_lease_does_not_count,
    our_own_status_changes_nothing,
    the_status_is_written_once_a_second,
    a_refused_write_to_the_root_waits,
    an_error_is_told,
    a_template_that_never_settles_is_told,
    a_seed_is_recorded_before_it_is_used,
    a_gate_waits_for_a_human,
    a_failure_of_an_older_generation_is_not_told,
    waiting_for_absence_looks_at_the_object,
    all_members_are_waited_for,
    older_edges_give_way_in_a_circle,
    an_immutable_change_is_told_or_made_anew,
    the_order_of_facts_does_not_matter,
    the_why_leads_to_the_root_cause,
    a_write_that_was_not_seen_holds_removal,
    old_records_are_not_acted_on,
    what_is_observed_is_read_and_never_written,
    a_restored_root_takes_its_objects_back_when_told,
    leaving_the_selector_removes,
    a_status_is_what_its_author_says,
    an_authors_condition_lowers_ready_and_never_raises_it,
    a_time_changes_only_with_what_it_speaks_of,
    what_a_server_makes_of_a_status_is_not_fought,
    a_report_is_copied_into_the_status,
    a_root_that_breaks_its_contract_is_left_as_it_is,
    a_contract_is_asked_of_the_evaluator,
    a_computed_name_is_asked_alone,
    a_late_name_is_known_with_its_inputs,
    a_value_is_passed_on,
    with_each_a_member_waits_for_its_own,
    a_yielded_field_is_left_to_its_owner,
    the_number_of_replicas_is_left_to_an_autoscaler,
    a_human_lets_the_old_one_go_first,
    a_once_is_retried_as_often_as_it_says,
    a_first_key_may_be_a_baseline,
    having_limits_what_is_kept_away,
    an_object_of_the_cluster_has_no_namespace,
    a_state_may_be_part_of_the_deletion,
    a_deletion_that_takes_too_long_asks_a_human,
    what_was_refused_otherwise_is_deleted_all_the_same,
    a_kind_that_reports_no_generation_may_say_so,
    a_shape_that_fails_is_told_and_closes_no_edge,
    a_one_off_that_ended_uses_nothing,
    a_deletion_does_not_wait_for_conditions_that_are_not_its_own, a_deletion_without_order_ends,
    a_late_answer_brings_no_root_back,
    a_claim_of_an_unknown_node_and_revision_is_removed_as_any_other,
    a_forged_claim_reclaims_nothing,
    a_forged_claim_under_a_wanted_name_is_a_conflict,
    what_has_no_genuine_claim_is_ignored,
    what_is_ignored_is_reported_once,
    a_ledger_that_cannot_be_read_is_told_and_blocks_no_deletion,
    an_instance_without_a_revision_that_runs_is_told,
    an_object_in_the_way_of_a_template_that_reads_everything_is_told,
    an_old_ledger_that_cannot_be_read_is_told,
    an_order_of_removal_may_come_and_go,
    what_is_needed_is_found_whatever_the_names,
    what_is_needed_late_is_made_and_goes,
    what_only_the_unneeded_needs_is_not_waited_for,
    a_once_that_has_ended_passes_the_order_on,
    a_once_without_an_object_passes_the_order_on,
    a_state_passes_the_order_on,
    an_absence_passes_the_order_on,
    what_has_no_members_passes_the_order_on,
    what_is_not_needed_does_not_pass_on_what_it_waits_for,
    what_is_not_needed_passes_the_order_on,
    what_picks_nothing_passes_the_order_on,
    what_was_scaled_up_in_order_is_scaled_down_in_order,
    a_condition_that_waits_for_a_name_holds_nobody_else,
    a_function_of_the_status_that_fails_is_told,
    a_removal_that_is_held_up_is_told,
    an_author_who_lowers_ready_is_quoted,
    an_unknown_field_is_told_and_hardly_tried_again,
    what_a_server_drops_is_told_once,
    a_node_may_observe_an_object_for_each_member,
    a_shape_may_read_the_object_that_it_is_about,
    an_edge_that_allows_absence_does_not_wait_for_an_object,
    a_deletion_that_is_refused_holds_the_root,
    what_is_given_up_by_name_is_left,
    giving_up_an_object_skips_no_node_of_the_deletion,
    a_kind_that_may_not_be_seen_holds_the_root,
    what_is_refused_again_and_again_stalls,
    a_ledger_that_is_refused_again_and_again_stalls,
    fields_that_a_definition_drops_are_told,
    a_definition_without_conditions_is_not_fought,
    what_has_no_members_is_needed_all_the_same,
    what_ran_does_not_run_again_without_a_ledger,
    what_was_generated_stays_without_a_ledger,
    a_ledger_that_went_meanwhile_is_written_again,
    a_human_may_begin_anew_once,
    a_list_that_is_older_than_the_root_is_no_loss,
    a_restored_root_asks_for_its_memory,
    a_forged_mark_gives_no_ledger,
    a_root_that_is_left_says_nothing_of_a_ledger,
    what_is_suspended_writes_nothing_but_its_report,
    drift_waits_for_the_brake,
    a_deletion_waits_for_the_brake,
    a_brake_on_the_blueprint_holds_every_instance,
}
