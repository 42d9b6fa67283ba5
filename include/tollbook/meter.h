/* Meters: what an operator counts and sells beside bandwidth, as the catalogue declares it (docs/catalogue.md).
 *
 * A meter counts for a resource of an account, such as a script or a storage zone, and splits what it counts by at most two
 * dimensions. Each (meter, resource, dimension values) is a series. A resource belongs to one account.
 *
 *   counter  values of an hour add up. Quantity of a month: the sum
 *   gauge    a value holds until the next value of its series. Quantity: value x seconds, each value first rounded up
 *   sample   sums over intervals of some minutes. Quantity: the percentile of the month's intervals
 *
 * Pure: declarations and usage lines as values. Storage: meterstore.h; prices: book.h; bills: bill.h. */
#ifndef TOLLBOOK_METER_H
#define TOLLBOOK_METER_H

#include "tollbook/buf.h"
#include "tollbook/decimal.h"
#include "tollbook/error.h"

TB_API_BEGIN

#define TB_METERS_MAX         256 /* of a catalogue */
#define TB_METER_ID_MAX       64  /* bytes, all of these without the end */
#define TB_METER_NAME_MAX     96
#define TB_METER_UNIT_MAX     32
#define TB_METER_NOUN_MAX     32 /* what a resource is called: "script" */
#define TB_METER_RESOURCE_MAX 64
#define TB_METER_VALUE_MAX    32 /* a dimension's name, and its values */
#define TB_METER_CHARGE_MAX   48
#define TB_METER_CODE_MAX     31
#define TB_METER_DIMENSIONS   2
#define TB_METER_SLOTS        12 /* intervals of an hour, at most */
#define TB_METER_INTERVAL     300 /* seconds of the shortest */
#define TB_METER_RESOURCES    100000 /* of an account */
#define TB_METER_VALUE_LARGEST INT64_C(1000000000000000000) /* 10^18 */

/* The bytes of pull zones by 5 minutes, from request logs, of accounts that keep samples. It is declared while an account does,
 * and no catalogue may declare it. It is not billed by itself: percentiles of bandwidth read it. */
#define TB_METER_BANDWIDTH      "bandwidth"
#define TB_METER_BANDWIDTH_NOUN "pull_zone" /* a resource's name is the pull zone's id */

/* Recurring fees (book.h) of an account, a pull zone or a load balancer. */
#define TB_FEES_MAX         256
#define TB_FEE_ID_MAX       64
#define TB_FEE_QUANTITY_MAX 1000000

/* X(ENUM, name) */
#define TB_METER_KINDS(X) X(COUNTER, "counter") X(GAUGE, "gauge") X(SAMPLE, "sample")
typedef enum tb_meter_kind {
#define TB_X(e, name) TB_METER_##e,
    TB_METER_KINDS(TB_X)
#undef TB_X
        TB_METER_KIND_COUNT
} tb_meter_kind;
const char *tb_meter_kind_name(tb_meter_kind kind);

typedef struct tb_meter {
    int64_t number;                           /* the store's; 0: not stored */
    char id[TB_METER_ID_MAX + 1];
    char name[TB_METER_NAME_MAX + 1];
    tb_meter_kind kind;
    char unit[TB_METER_UNIT_MAX + 1];
    char display_unit[TB_METER_UNIT_MAX + 1]; /* "": none */
    int64_t display_per;                      /* units of it; 1 where there is none */
    int64_t round_up;                         /* gauges: values are raised to a multiple; 0: not */
    int interval;                             /* samples: seconds, 300 or 3600; else 0 */
    char noun[TB_METER_NOUN_MAX + 1];         /* what a resource is: key "resource" */
    int n_dimensions;
    char dimension[TB_METER_DIMENSIONS][TB_METER_VALUE_MAX + 1];
    char charge[TB_METER_CHARGE_MAX + 1]; /* of TB_METER_CHARGES; "": none */
    char unece[4];                        /* unit code of UN/ECE Rec 20; "C62" by default */
    char ledger_code[TB_METER_CODE_MAX + 1]; /* of its revenue; "": the book's */
} tb_meter;

/* Reads a meter's declaration, a JSON object as in the catalogue's `meters`. TB_E_CATALOG with the key in err->field. */
TB_MUST_USE tb_code tb_meter_parse(const char *document, size_t len, tb_meter *ret_meter, tb_error *err);
/* The meter of a list that ascends by id; NULL: it has none of that id. */
const tb_meter *tb_meter_find(const tb_meter *meters, size_t n, const char *id);

/* The charges of GET /billing, in its order; a meter or a fee may name all but taxes. X(ENUM, name, field) */
#define TB_METER_CHARGES(X)                                                                        \
    X(EU_TRAFFIC, "EUTraffic", "MonthlyChargesEUTraffic")                                          \
    X(US_TRAFFIC, "USTraffic", "MonthlyChargesUSTraffic")                                          \
    X(ASIA_TRAFFIC, "ASIATraffic", "MonthlyChargesASIATraffic")                                    \
    X(AF_TRAFFIC, "AFTraffic", "MonthlyChargesAFTraffic")                                          \
    X(SA_TRAFFIC, "SATraffic", "MonthlyChargesSATraffic")                                          \
    X(STORAGE, "Storage", "MonthlyChargesStorage")                                                 \
    X(DNS, "DNS", "MonthlyChargesDNS")                                                             \
    X(OPTIMIZER, "Optimizer", "MonthlyChargesOptimizer")                                           \
    X(TRANSCRIBE, "Transcribe", "MonthlyChargesTranscribe")                                        \
    X(PREMIUM_ENCODING, "PremiumEncoding", "MonthlyChargesPremiumEncoding")                        \
    X(LIVE_ENCODING, "LiveEncoding", "MonthlyChargesLiveEncoding")                                 \
    X(EXTRA_PULL_ZONES, "ExtraPullZones", "MonthlyChargesExtraPullZones")                          \
    X(EXTRA_STORAGE_ZONES, "ExtraStorageZones", "MonthlyChargesExtraStorageZones")                 \
    X(EXTRA_DNS_ZONES, "ExtraDnsZones", "MonthlyChargesExtraDnsZones")                             \
    X(EXTRA_VIDEO_LIBRARIES, "ExtraVideoLibraries", "MonthlyChargesExtraVideoLibraries")           \
    X(SCRIPTING, "Scripting", "MonthlyChargesScripting")                                           \
    X(SCRIPTING_REQUESTS, "ScriptingRequests", "MonthlyChargesScriptingRequests")                  \
    X(SCRIPTING_CPU, "ScriptingCpu", "MonthlyChargesScriptingCpu")                                 \
    X(DRM, "Drm", "MonthlyChargesDrm")                                                             \
    X(MAGIC_CONTAINERS, "MagicContainers", "MonthlyChargesMagicContainers")                        \
    X(MC_CPU, "McCpu", "MonthlyMcCpu")                                                             \
    X(MC_MEMORY, "McMemory", "MonthlyMcMemory")                                                    \
    X(MC_IP, "McIp", "MonthlyMcIp")                                                                \
    X(MC_INGRESS_TRAFFIC, "McIngressTraffic", "MonthlyMcIngressTraffic")                           \
    X(MC_EGRESS_TRAFFIC, "McEgressTraffic", "MonthlyMcEgressTraffic")                              \
    X(MC_VOLUMES, "McVolumes", "MonthlyMcVolumes")                                                 \
    X(SHIELD, "Shield", "MonthlyChargesShield")                                                    \
    X(TAXES, "Taxes", "MonthlyChargesTaxes")                                                       \
    X(WEB_SOCKETS, "WebSockets", "MonthlyChargesWebSockets")                                       \
    X(DB, "DB", "MonthlyChargesDB")                                                                \
    X(LOAD_BALANCER, "LoadBalancer", "MonthlyChargesLoadBalancer")                                 \
    X(DB_WRITES, "DBWrites", "MonthlyDBWrites")                                                    \
    X(DB_READS, "DBReads", "MonthlyDBReads")                                                       \
    X(DB_STORAGE, "DBStorage", "MonthlyDBStorage")                                                 \
    X(DB_REPLICA, "DBReplica", "MonthlyDBReplica")
typedef enum tb_meter_charge {
#define TB_X(e, name, field) TB_METER_CHARGE_##e,
    TB_METER_CHARGES(TB_X)
#undef TB_X
        TB_METER_CHARGE_COUNT
} tb_meter_charge;
/* TB_METER_CHARGE_COUNT where it is none; "Storage" and "MonthlyChargesStorage" are one. */
tb_meter_charge tb_meter_charge_of(const char *charge);
bool tb_meter_charge_known(const char *charge);

/* One usage line: {"meter":"storage","account":3,"resource":"sz-1","time":"...","dimensions":{"region":"DE"},"value":5}.
 * Read by tb_meter_line_parse (intake.h). */
typedef struct tb_meter_line {
    char meter[TB_METER_ID_MAX + 1];
    int64_t account; /* 0: left out; the resource's is meant */
    char resource[TB_METER_RESOURCE_MAX + 1];
    int n_dimensions; /* as given */
    char name[TB_METER_DIMENSIONS][TB_METER_VALUE_MAX + 1];
    char value_of[TB_METER_DIMENSIONS][TB_METER_VALUE_MAX + 1];
    bool hourly; /* the key is "hour"; else "time" */
    int64_t time_us;
    uint64_t value;
    /* The byte in the line where the value of each key begins, from 1 on; 0: not known. */
    struct tb_meter_line_at {
        uint32_t meter, account, resource, time, dimensions;
    } at;
} tb_meter_line;

/* What names a series. Dimensions are in the meter's order. All bytes behind the texts' ends are zero. */
typedef struct tb_meter_key {
    int64_t meter; /* tb_meter.number */
    int64_t account;
    char noun[TB_METER_NOUN_MAX + 1];
    char resource[TB_METER_RESOURCE_MAX + 1];
    char dimension[TB_METER_DIMENSIONS][TB_METER_VALUE_MAX + 1]; /* "" where the meter has none */
} tb_meter_key;

/* Checks a line against its meter: a counter's time is an hour, the others' is not; dimensions are those of the meter. ret_key:
 * the account as the line says it. ret_at_us: a gauge's to the second, a sample's to the beginning of its interval.
 * TB_E_BAD_LINE with field and byte. */
TB_MUST_USE tb_code tb_meter_line_check(const tb_meter *meter, const tb_meter_line *line, tb_meter_key *ret_key,
                                        int64_t *ret_at_us, tb_error *err);

TB_API_END

#endif
