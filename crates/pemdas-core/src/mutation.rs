//! Deliberate bugs, for tests only: each is one sentence of the rules left out. The product has none of this.

/// Whether a deliberate bug is switched on. Outside of this crate's own tests it is the constant `false`.
macro_rules! mutant {
    ($name:ident) => {{
        #[cfg(test)]
        {
            $crate::mutation::active($crate::mutation::Mutation::$name)
        }
        #[cfg(not(test))]
        {
            false
        }
    }};
}

#[cfg(test)]
mod switch {
    use std::cell::Cell;

    macro_rules! mutations {
        ($($name:ident: $sentence:literal,)*) => {
            /// A bug, by the sentence it leaves out.
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
            pub(crate) enum Mutation { $($name,)* }
            impl Mutation {
                pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];
                pub(crate) fn sentence(self) -> &'static str {
                    match self { $(Self::$name => $sentence,)* }
                }
            }
        };
    }

    mutations! {
        AbsenceNeedsNeed: "TODO",
        AbsentTakesClaimed: "TODO",
        ActOnOldView: "TODO",
        AdoptAlways: "TODO",
        ApplyTerminating: "TODO",
        ApproveNothing: "TODO",
        AttemptForgetsLater: "TODO",
        BrokenBlocksRemoval: "TODO",
        BrokenSkips: "TODO",
        ClosedEdgeChangesMembers: "TODO",
        CutIsForgotten: "TODO",
        DeleteOrphans: "TODO",
        EatStrays: "TODO",
        EdgesAlwaysOpen: "TODO",
        ErrorIsUnknown: "TODO",
        FailsUnsettled: "TODO",
        FightForEver: "TODO",
        ForceNew: "TODO",
        ForgetAfter: "TODO",
        HeldChanges: "TODO",
        HeldCreates: "TODO",
        IgnoreDrift: "TODO",
        IgnoreObservedGeneration: "TODO",
        InUseUnsettled: "TODO",
        LeaveLedger: "TODO",
        MissingObservedIsFine: "TODO",
        NoFinalizer: "TODO",
        NoFreeze: "TODO",
        NoRemovalOrder: "TODO",
        NoRepairWhileHeld: "TODO",
        OlderEdgesStay: "TODO",
        OnceWithoutFinalizer: "TODO",
        OneMemberIsEnough: "TODO",
        OneNameForAllAttempts: "TODO",
        OpenBeforeRecorded: "TODO",
        PassedStatesNeedShape: "TODO",
        PerhapsNeededIsOpen: "TODO",
        ReadyUnsettled: "TODO",
        ReadyWhilePerhaps: "TODO",
        ReadyWhileRemoving: "TODO",
        ReadyWhileUnknown: "TODO",
        ReadyWithoutSettled: "TODO",
        ReleaseBeforeRecord: "TODO",
        RemoveByNodeName: "TODO",
        RemoveInUse: "TODO",
        RemoveWhileUnknown: "TODO",
        RepairUnforced: "TODO",
        ReplaceAtOnce: "TODO",
        ReplaceBeforeAtOnce: "TODO",
        ResumeForEver: "TODO",
        SeedUnrecorded: "TODO",
        SkipDeletionNodes: "TODO",
        StaleEpoch: "TODO",
        StateBeforeRecord: "TODO",
        StatesWithoutVersion: "TODO",
        StatusAtOnce: "TODO",
        StatusIsInput: "TODO",
        SupersededIsForgotten: "TODO",
        TakeClaimed: "TODO",
        UnknownConditionIsFalse: "TODO",
        UnknownKeyIsNew: "TODO",
        UnseenLedger: "TODO",
        UnsteadyTemplates: "TODO",
        UntilWithoutSettled: "TODO",
    }

    thread_local! {
        static ACTIVE: Cell<Option<Mutation>> = const { Cell::new(None) };
    }

    pub(crate) fn active(mutation: Mutation) -> bool {
        ACTIVE.with(|it| it.get() == Some(mutation))
    }

    /// Runs something with a bug switched on, on this thread.
    pub(crate) fn with<T>(mutation: Option<Mutation>, run: impl FnOnce() -> T) -> T {
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

#[cfg(test)]
pub(crate) use switch::{Mutation, active, with};
