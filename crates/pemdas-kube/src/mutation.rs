//! Deliberate bugs, for tests only: each is one sentence of what this crate promises, left out. The product has none of this.

/// Whether a deliberate bug is switched on. Without the feature `mutants` it is the constant `false`.
macro_rules! mutant {
    ($name:ident) => {{
        #[cfg(feature = "mutants")]
        {
            $crate::mutation::active($crate::mutation::Mutation::$name)
        }
        #[cfg(not(feature = "mutants"))]
        {
            false
        }
    }};
}

/// Whether nothing may be saved. Without the feature `mutants` it is the constant `false`.
macro_rules! at_length {
    () => {{
        #[cfg(feature = "mutants")]
        {
            pemdas_core::mutation::is_at_length()
        }
        #[cfg(not(feature = "mutants"))]
        {
            false
        }
    }};
}

#[cfg(feature = "mutants")]
pub(crate) use switch::active;
#[cfg(feature = "mutants")]
pub use switch::{Mutation, with};

#[cfg(feature = "mutants")]
mod switch {
    use std::cell::Cell;

    macro_rules! mutations {
        ($($name:ident: $sentence:literal,)*) => {
            /// A bug, by the sentence it leaves out.
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
            pub enum Mutation {
                $(#[doc = $sentence] $name,)*
            }

            impl Mutation {
                /// All of them.
                pub const ALL: &[Self] = &[$(Self::$name,)*];

                /// What is left out.
                #[must_use]
                pub fn sentence(self) -> &'static str {
                    match self { $(Self::$name => $sentence,)* }
                }
            }
        };
    }

    mutations! {
        ActsAsItself: "what a blueprint asks for is done as its account",
        ActsWithoutMemory: "an action is remembered before its answer can come",
        AnswersOutliveLists: "what is known from an answer and a newer list does not have is gone",
        BlueprintUnheld: "a blueprint is kept while instances of it live",
        BurstsAreCut: "everything that comes at once is heard",
        ChangeForces: "only what we applied before is taken back by force",
        ChangeNeverForces: "what somebody changed of what we applied is taken back by force",
        ChangeWithoutUid: "a change says which object it means, not only its name",
        CreateTakesOver: "a create is refused if the object is there",
        DefinitionTriedOnce: "a definition that could not be written is tried again",
        DeleteWithoutPreconditions: "a delete says which object in which version it means",
        DeletionChangesRevision: "a deletion ends with the revision that it began with",
        EndingUnseen: "in a namespace that is ending nothing is held up",
        ErrorsEndWatches: "a watch that fails is taken up again",
        FenceStandsOpen: "nothing is sent once the lease is over",
        FirstPageOnly: "a list is read to its end",
        GoneUnheard: "what a watch tells as gone is gone",
        LastGoodUnsought: "while a blueprint is broken its last good revision runs, after a restart too",
        LateCreatesStay: "what arrives after the end of its instance is taken away",
        LeaseTakenAtOnce: "a lease is taken only when its holder has not renewed it in time",
        LedgerStays: "a ledger goes with its instance",
        LedgerWithoutVersion: "a ledger is written only over the version that was seen",
        ListsOnlyAdd: "what a new list does not have is gone",
        ListsWithoutVersion: "a list says as of when it is",
        LostIsDone: "a lost answer is not taken for a yes",
        NeverWakes: "what has to wait is tried again in time",
        OldKindsUnwatched: "kinds that only earlier revisions speak of are looked at",
        OldNumberStays: "a revision that comes back gets a new number",
        RefusedRuns: "a revision waits for its CRDs",
        ReleaseTakesAll: "of the finalizers of an object only ours is taken off",
        ReportOnce: "the status of a blueprint is written again if that failed",
        SameNameIsSame: "another root under the same name is another instance",
        SeatsForgotten: "where an instance is in a rollout is read off the cluster",
        SelectedForEver: "a root that is not selected any more is left",
        StatusOnlyAdds: "what is not told any more leaves the status",
        StatusWithoutVersion: "a status is written only over the version that was seen",
        SyncedAtOnce: "nothing is known of a kind before its list has come",
        TellsAtOnce: "what another process told of a blueprint stands until enough is known",
        TerminatingUnseen: "an object that is going is known to be",
        TracesForgotten: "a root that was left while nobody looked is cleaned up after",
        UnkeptRuns: "a revision runs when it is kept",
        UnreadPastIsLost: "an earlier revision that cannot be read now is read later",
        UnservedForEver: "a kind that is not served is looked for again",
        WaitsForEver: "an answer that does not come is not waited for",
    }

    thread_local! {
        static ACTIVE: Cell<Option<Mutation>> = const { Cell::new(None) };
    }

    pub(crate) fn active(mutation: Mutation) -> bool {
        ACTIVE.with(|it| it.get() == Some(mutation))
    }

    /// Runs something with a bug switched on, on this thread.
    pub fn with<T>(mutation: Option<Mutation>, run: impl FnOnce() -> T) -> T {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                ACTIVE.with(|it| it.set(None));
            }
        }
        ACTIVE.with(|it| it.set(mutation));
        let _reset = Reset;
        run()
    }
}
