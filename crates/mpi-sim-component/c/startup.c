/*
 * The start-up of Open MPI without a daemon, a server or a socket: the components `ess/foretop` and `pmix/foretop`.
 *
 * All that a process learns from its launcher is known from the moment it was forked: who it is and how many there are.
 */
#include "orte_config.h"

#include <string.h>
#include <unistd.h>

#include "opal/class/opal_list.h"
#include "opal/dss/dss.h"
#include "opal/mca/pmix/base/base.h"
#include "opal/mca/pmix/pmix.h"
#include "opal/util/arch.h"
#include "opal/util/proc.h"
#include "orte/constants.h"
#include "orte/mca/errmgr/base/base.h"
#include "orte/mca/ess/ess.h"
#include "orte/runtime/orte_globals.h"
#include "orte/util/name_fns.h"
#include "orte/util/proc_info.h"

#include "engine.h"

/* Any number will do that is not a daemon's: the lower half counts the jobs of a family from 1. */
#define JOB_ID 0x10001

static int ess_init(void) {
    ORTE_PROC_MY_NAME->jobid = JOB_ID;
    ORTE_PROC_MY_NAME->vpid = foretop_rank();
    orte_process_info.num_procs = orte_process_info.max_procs = foretop_n_ranks();
    orte_process_info.num_nodes = 1;
    orte_process_info.app_num = 0;
    orte_process_info.app_rank = foretop_rank();
    orte_process_info.my_local_rank = orte_process_info.my_node_rank = 0;
    orte_process_info.num_local_peers = 0;
    orte_process_info.super.proc_name = *(opal_process_name_t *)ORTE_PROC_MY_NAME;
    orte_process_info.super.proc_hostname = strdup(orte_process_info.nodename);
    orte_process_info.super.proc_flags = OPAL_PROC_ALL_LOCAL;
    orte_process_info.super.proc_arch = opal_local_arch;
    opal_proc_local_set(&orte_process_info.super);
    /* Messages for the user are printed here, as nobody is there who would collect them. */
    orte_standalone_operation = true;
    orte_process_info.proc_type |= ORTE_PROC_SINGLETON;

    int status = mca_base_framework_open(&orte_errmgr_base_framework, 0);
    if (status == ORTE_SUCCESS) status = mca_base_framework_open(&opal_pmix_base_framework, 0);
    if (status == ORTE_SUCCESS) status = opal_pmix_base_select();
    return status;
}

static int ess_finalize(void) {
    mca_base_framework_close(&opal_pmix_base_framework);
    mca_base_framework_close(&orte_errmgr_base_framework);
    orte_proc_info_finalize();
    return ORTE_SUCCESS;
}

static void ess_abort(int status, bool report) {
    (void)report;
    foretop_abort(status);
}

static orte_ess_base_module_t ess_module = {ess_init, ess_finalize, ess_abort, NULL};

static int ess_query(mca_base_module_t **module, int *priority) {
    *module = (mca_base_module_t *)&ess_module;
    *priority = 1000;
    return ORTE_SUCCESS;
}

orte_ess_base_component_t mca_ess_foretop_component = {
    .base_version =
        {
            ORTE_ESS_BASE_VERSION_3_0_0,
            .mca_component_name = "foretop",
            MCA_BASE_MAKE_VERSION(component, ORTE_MAJOR_VERSION, ORTE_MINOR_VERSION, ORTE_RELEASE_VERSION),
            .mca_query_component = ess_query,
        },
    .base_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
};

static int done(void) { return OPAL_SUCCESS; }
static int answer_yes(void) { return 1; }
static int pmix_init(opal_list_t *list) {
    (void)list;
    return OPAL_SUCCESS;
}
static int pmix_fence(opal_list_t *processes, int collect) {
    (void)processes, (void)collect;
    return OPAL_SUCCESS;
}
static int pmix_fence_nb(opal_list_t *processes, int collect, opal_pmix_op_cbfunc_t then, void *data) {
    (void)processes, (void)collect;
    if (then != NULL) then(OPAL_SUCCESS, data);
    return OPAL_SUCCESS;
}
static int pmix_put(opal_pmix_scope_t scope, opal_value_t *value) {
    (void)scope, (void)value;
    return OPAL_SUCCESS;
}
static int pmix_store(const opal_process_name_t *process, opal_value_t *value) {
    (void)process, (void)value;
    return OPAL_SUCCESS;
}
static int pmix_abort(int status, const char *message, opal_list_t *processes) {
    (void)message, (void)processes;
    foretop_abort(status);
}
static bool pmix_legacy_get(void) { return false; }
static const char *pmix_version(void) { return "foretop"; }
static const char *pmix_nspace(opal_jobid_t job) {
    (void)job;
    return "foretop";
}
static void pmix_register_jobid(opal_jobid_t job, const char *nspace) { (void)job, (void)nspace; }

static int pmix_get(const opal_process_name_t *process, const char *key, opal_list_t *info, opal_value_t **answer) {
    (void)info;
    opal_value_t value = {.type = OPAL_UINT32};
    if (!strcmp(key, OPAL_PMIX_UNIV_SIZE) || !strcmp(key, OPAL_PMIX_JOB_SIZE) || !strcmp(key, OPAL_PMIX_MAX_PROCS)) {
        value.data.uint32 = foretop_n_ranks();
    } else if (!strcmp(key, OPAL_PMIX_APPNUM)) {
        value.data.uint32 = 0;
    } else if (!strcmp(key, OPAL_PMIX_LOCALITY)) {
        value.type = OPAL_UINT16;
        value.data.uint16 = foretop_node(process->vpid) == foretop_node(foretop_rank()) ? OPAL_PROC_ON_NODE : OPAL_PROC_NON_LOCAL;
    } else {
        return OPAL_ERR_NOT_FOUND;
    }
    *answer = OBJ_NEW(opal_value_t);
    (*answer)->type = value.type;
    (*answer)->data = value.data;
    return OPAL_SUCCESS;
}

static opal_pmix_base_module_t pmix_module = {
    .legacy_get = pmix_legacy_get,
    .init = pmix_init,
    .finalize = done,
    .initialized = answer_yes,
    .abort = pmix_abort,
    .commit = done,
    .fence = pmix_fence,
    .fence_nb = pmix_fence_nb,
    .put = pmix_put,
    .get = pmix_get,
    .get_version = pmix_version,
    .register_evhandler = opal_pmix_base_register_handler,
    .deregister_evhandler = opal_pmix_base_deregister_handler,
    .notify_event = opal_pmix_base_notify_event,
    .store_local = pmix_store,
    .get_nspace = pmix_nspace,
    .register_jobid = pmix_register_jobid,
};

static int pmix_query(mca_base_module_t **module, int *priority) {
    *module = (mca_base_module_t *)&pmix_module;
    *priority = 1000;
    return OPAL_SUCCESS;
}

opal_pmix_base_component_t mca_pmix_foretop_component = {
    .base_version =
        {
            OPAL_PMIX_BASE_VERSION_2_0_0,
            .mca_component_name = "foretop",
            MCA_BASE_MAKE_VERSION(component, OPAL_MAJOR_VERSION, OPAL_MINOR_VERSION, OPAL_RELEASE_VERSION),
            .mca_query_component = pmix_query,
        },
    .base_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .priority = 1000,
};
