/* Meters: what an operator counts and sells beside bandwidth, as the catalogue declares it (docs/meters.md).
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
#define TB_METER_RESOURCES    100000 /* of an account */
#define TB_METER_VALUE_LARGEST INT64_C(1000000000000000000) /* 10^18 */

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
    int64_t number; /* the store's; 0: not stored */
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
    char charge[TB_METER_CHARGE_MAX + 1]; /* a field of GET /billing without "MonthlyCharges"; "": none */
    char unece[4];                        /* unit code of UN/ECE Rec 20; "C62" by default */
    char ledger_code[TB_METER_CODE_MAX + 1]; /* of its revenue; "": the book's */
} tb_meter;

/* Reads a meter's declaration, a JSON object as in the catalogue's `meters`. TB_E_CATALOG with the key in err->field. */
TB_MUST_USE tb_code tb_meter_parse(const char *document, size_t len, tb_meter *ret_meter, tb_error *err);
/* The fields of GET /billing that show charges of the month, in its order: X(ENUM, field, shape). CHARGES: an amount;
 * USAGE: an amount and a quantity. A declaration's `charge` names one without "MonthlyCharges", or without "Monthly" where
 * that is all it begins with: "Storage", "McCpu", "DBWrites"; all but taxes. */
#define TB_MONTHLY_FIELDS(X)                                                                       \
    X(EU_TRAFFIC, "MonthlyChargesEUTraffic", CHARGES)                                              \
    X(US_TRAFFIC, "MonthlyChargesUSTraffic", CHARGES)                                              \
    X(ASIA_TRAFFIC, "MonthlyChargesASIATraffic", CHARGES)                                          \
    X(AF_TRAFFIC, "MonthlyChargesAFTraffic", CHARGES)                                              \
    X(SA_TRAFFIC, "MonthlyChargesSATraffic", CHARGES)                                              \
    X(STORAGE, "MonthlyChargesStorage", CHARGES)                                                   \
    X(DNS, "MonthlyChargesDNS", CHARGES)                                                           \
    X(OPTIMIZER, "MonthlyChargesOptimizer", CHARGES)                                               \
    X(TRANSCRIBE, "MonthlyChargesTranscribe", CHARGES)                                             \
    X(PREMIUM_ENCODING, "MonthlyChargesPremiumEncoding", CHARGES)                                  \
    X(LIVE_ENCODING, "MonthlyChargesLiveEncoding", CHARGES)                                        \
    X(EXTRA_PULL_ZONES, "MonthlyChargesExtraPullZones", CHARGES)                                   \
    X(EXTRA_STORAGE_ZONES, "MonthlyChargesExtraStorageZones", CHARGES)                             \
    X(EXTRA_DNS_ZONES, "MonthlyChargesExtraDnsZones", CHARGES)                                     \
    X(EXTRA_VIDEO_LIBRARIES, "MonthlyChargesExtraVideoLibraries", CHARGES)                         \
    X(SCRIPTING, "MonthlyChargesScripting", CHARGES)                                               \
    X(SCRIPTING_REQUESTS, "MonthlyChargesScriptingRequests", CHARGES)                              \
    X(SCRIPTING_CPU, "MonthlyChargesScriptingCpu", CHARGES)                                        \
    X(DRM, "MonthlyChargesDrm", CHARGES)                                                           \
    X(MAGIC_CONTAINERS, "MonthlyChargesMagicContainers", CHARGES)                                  \
    X(MC_CPU, "MonthlyMcCpu", USAGE)                                                               \
    X(MC_MEMORY, "MonthlyMcMemory", USAGE)                                                         \
    X(MC_IP, "MonthlyMcIp", USAGE)                                                                 \
    X(MC_INGRESS_TRAFFIC, "MonthlyMcIngressTraffic", USAGE)                                        \
    X(MC_EGRESS_TRAFFIC, "MonthlyMcEgressTraffic", USAGE)                                          \
    X(MC_VOLUMES, "MonthlyMcVolumes", USAGE)                                                       \
    X(SHIELD, "MonthlyChargesShield", CHARGES)                                                     \
    X(TAXES, "MonthlyChargesTaxes", CHARGES)                                                       \
    X(WEB_SOCKETS, "MonthlyChargesWebSockets", CHARGES)                                            \
    X(DB, "MonthlyChargesDB", CHARGES)                                                             \
    X(LOAD_BALANCER, "MonthlyChargesLoadBalancer", CHARGES)                                        \
    X(DB_WRITES, "MonthlyDBWrites", USAGE)                                                         \
    X(DB_READS, "MonthlyDBReads", USAGE)                                                           \
    X(DB_STORAGE, "MonthlyDBStorage", USAGE)                                                       \
    X(DB_REPLICA, "MonthlyDBReplica", USAGE)
typedef enum tb_monthly_field {
#define TB_X(e, field, shape) TB_MONTHLY_##e,
    TB_MONTHLY_FIELDS(TB_X)
#undef TB_X
        TB_MONTHLY_FIELD_COUNT
} tb_monthly_field;
/* The field of a `charge`; TB_MONTHLY_FIELD_COUNT where it names none. */
tb_monthly_field tb_monthly_field_of(const char *charge);
bool tb_meter_charge_known(const char *charge);

/* One usage line. */
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
} tb_meter_line;

TB_API_END

#endif
