"""The tables of keys: every key and option of Slurm's manuals is there, with a sentence and a status.

The names are those of slurm.conf(5) of 22.05, of the list of keys in the source of 20.11 and of 26.11, and of
sacctmgr(1) of 22.05, and stand here as facts.
"""

from __future__ import annotations

from dataclasses import fields

import pytest

from batchlab.slurm import RELEASES, SchedulerParameters, key_table, tables
from batchlab.slurm.configuration.keys import changes
from batchlab.slurm.configuration.values import KINDS

MANUAL = """
AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost AccountingStorageHost
AccountingStorageParameters AccountingStoragePass AccountingStoragePort AccountingStorageTRES
AccountingStorageType AccountingStorageUser AccountingStoreFlags AcctGatherEnergyType
AcctGatherFilesystemType AcctGatherInterconnectType AcctGatherNodeFreq AcctGatherProfileType
AllowSpecResourcesUsage AuthAltParameters AuthAltTypes AuthInfo AuthType BackupAddr BackupController
BatchStartTimeout BcastExclude BcastParameters BurstBufferType CliFilterPlugins ClusterName
CommunicationParameters CompleteWait ControlAddr ControlMachine CoreSpecPlugin CpuFreqDef
CpuFreqGovernors CredType DebugFlags DefCpuPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode
DependencyParameters DisableRootJobs EioTimeout EnforcePartLimits Epilog EpilogMsgTime EpilogSlurmctld
ExtSensorsFreq ExtSensorsType FairShareDampeningFactor FederationParameters FirstJobId GetEnvTimeout
GpuFreqDef GresTypes GroupUpdateForce GroupUpdateTime HealthCheckInterval HealthCheckNodeState
HealthCheckProgram InactiveLimit InteractiveStepOptions JobAcctGatherFrequency JobAcctGatherParams
JobAcctGatherType JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPort JobCompType JobCompUser
JobContainerType JobFileAppend JobRequeue JobSubmitPlugins KillOnBadExit KillWait LaunchParameters
LaunchType Licenses LogTimeFormat MailDomain MailProg MaxArraySize MaxDBDMsgs MaxJobCount MaxJobId
MaxMemPerCPU MaxMemPerNode MaxNodeCount MaxStepCount MaxTasksPerNode MCSParameters MCSPlugin
MessageTimeout MinJobAge MpiDefault MpiParams NodeFeaturesPlugins OverTimeLimit PluginDir
PlugStackConfig PowerParameters PowerPlugin PreemptExemptTime PreemptMode PreemptType PrEpParameters
PrEpPlugins PriorityCalcPeriod PriorityDecayHalfLife PriorityFavorSmall PriorityFlags PriorityMaxAge
PriorityParameters PrioritySiteFactorParameters PrioritySiteFactorPlugin PriorityType
PriorityUsageResetPeriod PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare
PriorityWeightJobSize PriorityWeightPartition PriorityWeightQOS PriorityWeightTRES PrivateData
ProctrackType Prolog PrologEpilogTimeout PrologFlags PrologSlurmctld PropagatePrioProcess
PropagateResourceLimits PropagateResourceLimitsExcept RebootProgram ReconfigFlags RequeueExit
RequeueExitHold ResumeFailProgram ResumeProgram ResumeRate ResumeTimeout ResvEpilog ResvOverRun
ResvProlog ReturnToService RoutePlugin SchedulerParameters SchedulerTimeSlice SchedulerType
ScronParameters SelectType SelectTypeParameters SlurmctldAddr SlurmctldDebug SlurmctldHost
SlurmctldLogFile SlurmctldParameters SlurmctldPidFile SlurmctldPlugstack SlurmctldPort
SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug
SlurmdLogFile SlurmdParameters SlurmdPidFile SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout
SlurmdUser SlurmSchedLogFile SlurmSchedLogLevel SlurmUser SrunEpilog SrunPortRange SrunProlog
StateSaveLocation SuspendExcNodes SuspendExcParts SuspendProgram SuspendRate SuspendTime SuspendTimeout
SwitchParameters SwitchType TaskEpilog TaskPlugin TaskPluginParam TaskProlog TCPTimeout TmpFS
TopologyParam TopologyPlugin TrackWCKey TreeWidth UnkillableStepProgram UnkillableStepTimeout UsePAM
VSizeFactor WaitTime X11Parameters
"""
OTHER_RELEASES = """
AccountingStorageLoc AccountingStoreJobComment AcctGatherInfinibandType BurstBufferParameters
CertgenParameters CertgenType CertmgrParameters CertmgrType CliFilterParameters CryptoType
DataParserParameters DefRuntimePlugin EpilogTimeout FastSchedule HashPlugin HealthCheckTimeout
HttpParserType JobCompPassScript JobCredentialPrivateKey JobCredentialPublicCertificate KeepAliveTime
LicenseParameters MaxBatchRequeue MaxNodeFailRequeue MaxPreemptRequeue MetricsAuthUsers
MetricsParameters MetricsType NamespaceType PowerAction PreemptParameters PrologTimeout
SallocDefaultCommand SbcastParameters SchedulerAuth SerializerParameters SerializerPlugins
SlurmctldHttpAuthParameters SlurmdHttpAuthParameters SlurmrestdHttpAuthParameters SlurmrestdParameters
SlurmstepdParameters SuspendExcStates TLSParameters TLSType UrlParserType DownNodes FrontendName
NodeName NodeSet PartitionName
"""
OBSOLETE = """
CacheGroups CheckpointType ChosLoc DefaultStorageHost DefaultStorageLoc DefaultStoragePass
DefaultStoragePort DefaultStorageType DefaultStorageUser JobCheckpointDir Layouts MemLimitEnforce
MsgAggregationParams SchedulerPort SchedulerRootFilter
"""
NODES = """
BcastAddr Boards CoreSpecCount CoresPerSocket CpuBind CPUs CpuSpecList Features Gres MemSpecLimit
NodeAddr NodeHostname NodeName Port Procs RealMemory Reason Sockets SocketsPerBoard State ThreadsPerCore
TmpDisk Weight AutoResume Feature GresConf Parameters RestrictedCoresPerGPU SuspendTime Topology
TRESWeights
"""
PARTITIONS = """
AllocNodes AllowAccounts AllowGroups AllowQos Alternate CpuBind Default DefaultTime DefCpuPerGPU
DefMemPerCPU DefMemPerGPU DefMemPerNode DenyAccounts DenyQos DisableRootJobs ExclusiveUser GraceTime
Hidden LLN MaxCPUsPerNode MaxMemPerCPU MaxMemPerNode MaxNodes MaxTime MinNodes Nodes OverSubscribe
OverTimeLimit PartitionName PreemptMode PriorityJobFactor PriorityTier QOS ReqResv ResumeTimeout
RootOnly SelectTypeParameters Shared State SuspendTime SuspendTimeout TRESBillingWeights Exclusive
ExclusiveTopo MaxCPUsPerSocket PowerDownOnIdle Priority Topology
"""
SCHEDULER = """
allow_zero_lic assoc_limit_stop batch_sched_delay bb_array_stage_cnt bf_busy_nodes bf_continue
bf_hetjob_immediate bf_hetjob_prio bf_interval bf_job_part_count_reserve bf_licenses
bf_max_job_array_resv bf_max_job_assoc bf_max_job_part bf_max_job_start bf_max_job_test bf_max_job_user
bf_max_job_user_part bf_max_time bf_min_age_reserve bf_min_prio_reserve bf_node_space_size
bf_one_resv_per_job bf_resolution bf_running_job_reserve bf_window bf_window_linear bf_yield_interval
bf_yield_sleep build_queue_timeout correspond_after_task_cnt default_queue_depth defer delay_boot
disable_hetjob_steps disable_job_shrink enable_hetjob_steps enable_user_top Ignore_NUMA
ignore_prefer_validation max_array_tasks max_rpc_cnt max_sched_time max_script_size max_switch_wait
no_backup_scheduling no_env_cache nohold_on_prolog_fail pack_serial_at_end partition_job_depth
preempt_reorder_count preempt_strict_order preempt_youngest_first reduce_completing_frag
requeue_setup_env_fail salloc_wait_nodes sbatch_wait_nodes sched_interval sched_max_job_start
sched_min_interval spec_cores_first step_retry_count step_retry_time whole_hetjob bf_allow_magnetic_slot
bf_topopt_enable bf_topopt_iterations bf_yield_rpc_cnt defer_batch extra_constraints
enable_job_state_cache ignore_constraint_validation max_submit_line_size requeue_delay
requeue_on_resume_failure time_min_as_soft_limit
"""
ASSOCIATIONS = """
AdminLevel Coordinator DefaultAccount DefaultQOS DefaultWCKey Description Fairshare GrpJobs
GrpJobsAccrue GrpNodes GrpSubmit GrpSubmitJobs GrpTRES GrpTRESMins GrpTRESRunMins GrpWall MaxJobs
MaxJobsAccrue MaxNodesPerJob MaxSubmit MaxSubmitJobs MaxTRES MaxTRESMins MaxTRESMinsPerJob MaxTRESPerJob
MaxTRESPerNode MaxWall MaxWallDurationPerJob Organization Partition Priority QOS QosLevel Share Account
Cluster User ParentName ParentID Classification Features Federation FedState RawUsage WCKeys
"""
QOS = """
Description Flags GraceTime GrpJobs GrpJobsAccrue GrpSubmit GrpSubmitJobs GrpTRES GrpTRESMins
GrpTRESRunMins GrpWall ID LimitFactor MaxJobsAccruePA MaxJobsAccruePerAccount MaxJobsAccruePU
MaxJobsAccruePerUser MaxJobsPA MaxJobsPerAccount MaxJobsPU MaxJobsPerUser MaxSubmitJobsPA
MaxSubmitJobsPerAccount MaxSubmitJobsPU MaxSubmitJobsPerUser MaxTRES MaxTRESPerJob MaxTRESMins
MaxTRESMinsPerJob MaxTRESPA MaxTRESPerAccount MaxTRESPerNode MaxTRESPU MaxTRESPerUser
MaxTRESRunMinsPerAccount MaxTRESRunMinsPerUser MaxWall MaxWallDurationPerJob MinPrioThreshold MinTRES
MinTRESPerJob Name Preempt PreemptExemptTime PreemptMode Priority RawUsage UsageFactor UsageThreshold
"""
OTHERS = {
    "node_sets": "Feature Nodes NodeSet",
    "down_nodes": "DownNodes Reason State",
    "front_ends": "AllowGroups AllowUsers DenyGroups DenyUsers FrontendName FrontendAddr Port State",
    "topology": "SwitchName Switches Nodes LinkSpeed BlockName BlockSizes",
    "gres": "AutoDetect Count Cores File Files Flags Link Links MultipleFiles Name NodeName Type",
    "gres_flags": (
        "CountOnly one_sharing all_sharing explicit "
        "nvidia_gpu_env amd_gpu_env intel_gpu_env opencl_env no_gpu_env"
    ),
    "qos_flags": (
        "DenyOnLimit EnforceUsageThreshold NoDecay NoReserve OverPartQOS PartitionMaxNodes PartitionMinNodes "
        "PartitionTimeLimit Relative RequiresReservation UsageFactorSafe"
    ),
    "AccountingStorageEnforce": "all associations limits nojobs nosteps qos safe wckeys",
    "PriorityFlags": (
        "ACCRUE_ALWAYS CALCULATE_RUNNING DEPTH_OBLIVIOUS NO_FAIR_TREE INCR_ONLY MAX_TRES MAX_TRES_GRES "
        "NO_NORMAL_ALL NO_NORMAL_ASSOC NO_NORMAL_PART NO_NORMAL_QOS NO_NORMAL_TRES SMALL_RELATIVE_TO_TIME"
    ),
    "PreemptMode": "OFF CANCEL GANG REQUEUE SUSPEND PRIORITY WITHIN",
    "PreemptParameters": (
        "min_exempt_priority reclaim_licenses reorder_count send_user_signal strict_order suspend_grace_time "
        "youngest_first"
    ),
    "SelectTypeParameters": (
        "CR_CPU CR_CPU_Memory CR_Core CR_Core_Memory CR_Socket CR_Socket_Memory CR_Memory "
        "CR_ONE_TASK_PER_CORE "
        "CR_CORE_DEFAULT_DIST_BLOCK CR_LLN CR_Pack_Nodes LL_SHARED_GRES MULTIPLE_SHARING_GRES_PJ "
        "ENFORCE_BINDING_GRES ONE_TASK_PER_SHARING_GRES CR_NO_DIST_TOPO_BLOCK"
    ),
    "LaunchParameters": (
        "batch_step_set_cpu_freq interactive_step_set_cpu_freq cray_net_exclusive enable_nss_slurm "
        "lustre_no_flush mpir_use_nodeaddr disable_send_gids slurmstepd_memlock slurmstepd_memlock_all "
        "srun_exclusive_allocation test_exec use_interactive_step ulimit_pam_adopt"
    ),
    "PrologFlags": "Alloc Contain DeferBatch NoHold ForceRequeueOnFail RunInJob Serial X11",
    "DependencyParameters": "disable_remote_singleton kill_invalid_depend max_depend_depth",
    "TopologyParam": (
        "Dragonfly RoutePart BlockAsNodeRank SwitchAsNodeRank RouteTree TopoMaxSizeUnroll TopoOptional"
    ),
    "TaskPluginParam": (
        "Cores None Sockets Threads SlurmdSpecOverride SlurmdOffSpec OOMKillStep Verbose Autobind"
    ),
}
EXPECTED = {
    "slurm_conf": MANUAL + OTHER_RELEASES + OBSOLETE,
    "nodes": NODES,
    "partitions": PARTITIONS,
    "SchedulerParameters": SCHEDULER,
    "associations": ASSOCIATIONS,
    "qos": QOS,
    **OTHERS,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_no_key_of_the_manuals_is_missing(name: str) -> None:
    """Every name of the manuals is in its table."""
    table = key_table(name)
    assert [key for key in EXPECTED[name].split() if table.find(key) is None] == []


@pytest.mark.parametrize("name", tables())
def test_every_key_says_what_it_does(name: str) -> None:
    """A sentence, a kind of value that there is, releases in their order, and a default of that kind."""
    for key in key_table(name).keys.values():
        assert key.does.endswith("."), key
        assert key.kind in KINDS, key
        assert key.options is None or key.options in tables(), key
        assert key.line is None or key.line in tables(), key
        since, until = (None if each is None else RELEASES.index(each) for each in (key.since, key.until))
        assert since is None or until is None or since <= until, key
        if key.default is not None:
            KINDS[key.kind](key.default)


def test_options_that_are_read_have_a_field() -> None:
    """What the table of SchedulerParameters calls read or modelled has a field, and nothing else has."""
    same = {"max_rpc_count", "bf_yield_rpc_count"}
    table = key_table("SchedulerParameters")
    read = {name for name, key in table.keys.items() if key.status in {"read", "modelled"}}
    assert {each.name for each in fields(SchedulerParameters)} - {"type"} == read - same


def test_changes_are_of_keys() -> None:
    """Each change of a meaning names a key of a table, and a release."""
    assert changes()
    for change in changes():
        assert key_table(change.of).find(change.key) is not None, change
        assert change.release in RELEASES
