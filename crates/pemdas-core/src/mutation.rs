//! Deliberate bugs, for tests only: each is one sentence of the rules left out. And whatever only saves work, switched off. The
//! product has none of this.

/// Whether a deliberate bug is switched on. Without the feature `mutants` it is the constant `false`.
macro_rules! mutant {
    ($name:ident) => {{
        #[cfg(any(test, feature = "mutants"))]
        {
            $crate::mutation::active($crate::mutation::Mutation::$name)
        }
        #[cfg(not(any(test, feature = "mutants")))]
        {
            false
        }
    }};
}

/// Whether nothing may be saved. Without the feature `mutants` it is the constant `false`.
macro_rules! at_length {
    () => {{
        #[cfg(any(test, feature = "mutants"))]
        {
            $crate::mutation::is_at_length()
        }
        #[cfg(not(any(test, feature = "mutants")))]
        {
            false
        }
    }};
}

#[cfg(any(test, feature = "mutants"))]
pub(crate) use switch::active;
#[cfg(test)]
pub(crate) use switch::any;
#[cfg(any(test, feature = "mutants"))]
pub use switch::{Mutation, at_length, is_at_length, with};

#[cfg(any(test, feature = "mutants"))]
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
        AbsenceNeedsNeed: "waiting for absence is always judged on the live object",
        AbsenceIsAWord: "a shape that allows absence does not wait for an object",
        AbsentTakesClaimed: "`absent` never deletes what another instance claims",
        ActOnOldView: "nothing acts on a view older than its own last write",
        AdoptAlways: "an existing object is not touched unless `'Adopt`",
        ApplyForEver: "an apply of which the server keeps less is not sent again for that",
        ApplyTerminating: "a terminating object is neither settled nor re-applied",
        ApproveNothing: "a gate is opened by a human for one rendered digest",
        AttemptForgetsLater: "an attempt makes the later ones of its chain due again",
        BaselineIsAState: "a first key that was skipped is no state to be in",
        BrakeIgnored: "what a human suspended writes nothing but its report",
        BrokenBlocksRemoval: "removal needs no blueprint",
        BrokenSkips: "deletion nodes that cannot run block until skipped",
        ClosedEdgeChangesMembers: "while an edge into a `for_each` is closed, its last member set stands",
        ClaimsOfAnyInstance: "a claim counts for the instance for which it was written",
        ClaimsOfAnyKind: "a claim counts for an object of the kind for which it was written",
        CopiedClaims: "a claim names its object: copied onto another, it says nothing",
        CutIsForgotten: "terminating unfinished, an attempt is recorded as not passed and released",
        DeleteForEver: "an object that comes back again and again is deleted with a growing pause",
        DeleteOrphans: "what is to be orphaned stays",
        EachOpensEmpty: "with `each`, a member whose counterpart is not known waits",
        EatStrays: "objects of a root that was not seen going are never deleted",
        EdgesAlwaysOpen: "a node acts only when all its edges are open",
        EndedOncesUse: "a once that has ended uses nothing any more",
        EmptyIsUnneeded: "a plan tells what has no members from what is not needed",
        ErrorIsUnknown: "a failing function is told as Stalled",
        FailsUnsettled: "failure is judged only on caught-up objects",
        FightAutoscalers: "the number of replicas is left to an autoscaler",
        FightForEver: "a contended field ends in Stalled, not in a loop",
        ForgedClaims: "a claim counts only if Pemdas wrote it on this very object",
        ForgedLedgers: "a ledger counts only if Pemdas wrote it for this very instance",
        ForceNew: "a new desired is never forced unless `'Force`",
        ForgetAfter: "an object says which nodes it came after",
        HeldChanges: "a closed edge holds: no new desired",
        HeldForEver: "what holds an object that is to go is told as Stalled when it lasts",
        HeldCreates: "a closed edge holds: nothing is created",
        IgnoreDrift: "our managedFields entry covers the desired fields, or it is drift",
        IgnoreObservedGeneration: "caught up: observedGeneration has reached the generation",
        InUseUnsettled: "a removed object waits until its successors are settled without it",
        LateAttempts: "an attempt that was never seen is given up only when no late write can begin it",
        LeaveOldLedger: "a dead root's objects are taken over with its ledger",
        LeaveLedger: "the ledger is deleted as the last step of deletion",
        LostIsEmpty: "memory that is missing is never taken for memory that is empty",
        LookTwice: "what is being looked up is not looked up once more",
        MarkStays: "a root that stays says nothing of a ledger that goes",
        MissingIsUnknown: "a condition that reads a missing field of the root is told",
        MissingObservedIsFine: "a missing observedGeneration means not yet",
        MembersSeeAlike: "each member observes an object of its own",
        NamesAreReadOff: "a computed name is what its function says",
        NeedsAreJudgedOnce: "a condition is judged again when its node turns out to be needed",
        NeverTakeBack: "a field that was ours in the last apply is taken back",
        NoFinalizer: "finalizers are placed before the first create",
        NoFreeze: "during a deletion the inventory is frozen",
        NoRemovalOrder: "everything is removed in reverse order",
        NoRepairWhileHeld: "behind a closed edge, deletion of what was last applied is repaired",
        OlderKeysStay: "what an older key sealed is sealed anew when a human asks for it",
        OlderEdgesStay: "in a circle of mixed revisions, edges of the older ordinal give way",
        OnceEndsTheOrder: "a once that has ended passes the order of removal on",
        OnceWithoutFinalizer: "a once-object carries our finalizer until its end is recorded",
        OneMemberIsEnough: "an edge waits for all members",
        OneNameForAllAttempts: "a once-object's name ends in the digest of key and attempt",
        OpenBeforeRecorded: "a state's edges open when its being passed is recorded",
        OrderEndsWithNeed: "what is not needed or has no members passes the order on",
        PassedStatesNeedShape: "a passed state whose object went on is settled and ready",
        PerhapsNeededIsOpen: "an edge from what is perhaps needed is closed",
        PrunedSilently: "fields that the definition of a status drops are told",
        ReadyUnsettled: "ready is settled and of the ready shape",
        ReadyWhileRemoving: "Ready: nothing to remove",
        ReadyWhileUnknown: "Ready: nothing unknown",
        ReadyWithoutSettled: "an edge is open when its precursor is settled, not merely of its shape",
        ReleaseBeforeRecord: "the end is recorded before the finalizer goes",
        RecreateAtOnce: "an object that goes away again and again is made with a growing pause",
        RemoveByNodeName: "removal is by identity, not by node name",
        RemoveInUse: "nothing in use is removed",
        RemoveUnseen: "nothing is removed while a write of ours was not seen",
        RemoveWhileUnknown: "nothing is removed while a needed member set is unknown",
        RepairUnforced: "drift of what we applied is repaired with force",
        RefusalLeaves: "the root stays while a deletion is refused",
        RefusedForEver: "what is refused again and again is told as Stalled",
        ReplaceAtOnce: "with `'After` the old one goes when its replacement is ready",
        ReplaceBeforeAtOnce: "with `'Before` the old one goes first",
        ResumeForEver: "resume is a nonce, consumed once",
        SeedUnrecorded: "a seed is fixed at first use",
        SkipDeletionNodes: "the deletion's own nodes run before the rest is torn down",
        StaleEpoch: "a new leader decides only on lists begun after it took the lease",
        StateBeforeRecord: "an attempt is recorded before its first write",
        StatesWithoutVersion: "changes send the resourceVersion where the object has states",
        DeleteTheKept: "a root deleted without its objects leaves them",
        CollectByHand: "what the garbage collector takes is left to it",
        RootAtOnce: "a refused write to the root waits before it is tried again",
        StatusAtOnce: "at most one status write a second",
        StatusIsInput: "the root is seen without its status",
        SupersededIsForgotten: "a superseded unfinished attempt is waited for",
        StepsStay: "a step is taken again when something that it read has changed",
        FindingsStay: "what a step finds anew is told to the steps after it",
        StatesStay: "what a node looks like now is counted in the report",
        StraysStay: "an object that its node does not keep any more is looked for",
        TakeAll: "a field that was never ours is a conflict",
        TakeClaimed: "a second claimant gets a conflict, never a merge",
        UnlistedLeaves: "the root stays while nobody may see what is left",
        UnknownConditionIsFalse: "what is perhaps needed is kept",
        AnyAttemptReturns: "an attempt brings an object back only to the states that it comes after",
        DeletionAwaitsConditions: "a deletion waits only for its own nodes",
        UnknownKeyIsNew: "an unknown key keeps the last key",
        UnseenLedger: "the ledger is not used while our last write to it was not seen",
        UnsteadyTemplates: "with `self = desired` the template must give `desired` again",
        UntilWithoutSettled: "a shape on an edge counts only on a settled precursor",
        DropUntold: "what the API server drops is reported",
        UnknownFieldAtOnce: "a field that the kind does not have is hardly tried again",
    }

    thread_local! {
        static ACTIVE: Cell<Option<Mutation>> = const { Cell::new(None) };
        static AT_LENGTH: Cell<bool> = const { Cell::new(false) };
    }

    pub(crate) fn active(mutation: Mutation) -> bool {
        ACTIVE.with(|it| it.get() == Some(mutation))
    }

    /// Whether any bug is switched on: then a short walk is of no interest.
    #[cfg(test)]
    pub(crate) fn any() -> bool {
        ACTIVE.with(|it| it.get().is_some())
    }

    /// Whether nothing may be saved on this thread.
    #[must_use]
    pub fn is_at_length() -> bool {
        AT_LENGTH.with(Cell::get)
    }

    /// Runs something without what only saves work: every decision looks at everything, every function is evaluated, and nothing
    /// is put to rest.
    pub fn at_length<T>(run: impl FnOnce() -> T) -> T {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                AT_LENGTH.with(|it| it.set(false));
            }
        }
        AT_LENGTH.with(|it| it.set(true));
        let _reset = Reset;
        run()
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
