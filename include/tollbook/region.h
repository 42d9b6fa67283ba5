/* Regions: what an edge location code means to people and to billing. A default table is built in;
 * a catalogue's `regions` list replaces it. serverZoneId in queries is a region's id, and the keys
 * of GeoTrafficDistribution are region names ("EU: Frankfurt, DE"). */
#ifndef TOLLBOOK_REGION_H
#define TOLLBOOK_REGION_H

#include "tollbook/error.h"
#include "tollbook/metrics.h"

TB_API_BEGIN

#define TB_REGION_NAME_MAX 96

typedef struct tb_region {
    int64_t id;                    /* > 0 */
    char code[TB_EDGE_MAX + 1];    /* edge location code in logs */
    char name[TB_REGION_NAME_MAX]; /* "<continent tag>: <City>, <CC or state>" */
    char billing[8];               /* billing region: EU NA ASIA SA AF */
    char continent[4];             /* EU NA AS OC SA AF */
    char country[4];               /* ISO alpha-2 */
    char price[16];                /* public price per GB, decimal text, for display only */
    double latitude, longitude;    /* degrees, for display only */
    bool latency_routing;
} tb_region;

extern const tb_region tb_region_default[];
extern const size_t tb_region_default_count;

TB_API_END

#endif
