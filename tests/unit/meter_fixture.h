/* What the tests of meters share: an account with meters, and values of gauges as rows. */
#ifndef TOLLBOOK_TESTS_METER_FIXTURE_H
#define TOLLBOOK_TESTS_METER_FIXTURE_H

#include "billing_fixture.h"
#include "tollbook/meterstore.h"

/* Meter `number` with this declaration, known from the beginning. */
static inline void add_meter(fixture *f, int number, const char *id, const char *rest)
{
    char text[900];
    snprintf(text, sizeof text,
             "INSERT INTO meter(id,name,document,declared_us,deleted_us)VALUES(%d,'%s','{\"meter\":\"%s\",%s}',0,9223372036854775807);"
             "INSERT INTO declaration(kind,id,from_us,to_us,document,version)"
             "SELECT 'meter',id,-9223372036854775807-1,9223372036854775807,document,1 FROM meter WHERE id=%d",
             number, id, id, rest, number);
    sql(f, text);
}

static inline void add_series(fixture *f, int id, int meter, int account, const char *resource, const char *dimension)
{
    char text[400];
    snprintf(text, sizeof text, "INSERT INTO meter_series(id,meter,account,resource,dimension_1,dimension_2)VALUES(%d,%d,%d,'%s','%s','')",
             id, meter, account, resource, dimension);
    sql(f, text);
}

/* A value in a segment, of a data version of its own. */
static inline void add_gauge(fixture *f, int series, int64_t at_us, int segment, uint64_t value)
{
    char text[400];
    sql(f, "UPDATE meta SET value=value+1 WHERE name='data_version'");
    snprintf(text, sizeof text,
             "INSERT INTO gauge(series,at_us,segment,value,version,gone_version)"
             "SELECT %d,%lld,%d,%llu,value,9223372036854775807 FROM meta WHERE name='data_version'",
             series, (long long)at_us, segment, (unsigned long long)value);
    sql(f, text);
}

static inline void withdraw_gauges(fixture *f, int segment)
{
    char text[300];
    sql(f, "UPDATE meta SET value=value+1 WHERE name='data_version'");
    snprintf(text, sizeof text,
             "UPDATE gauge SET gone_version=(SELECT value FROM meta WHERE name='data_version') WHERE segment=%d", segment);
    sql(f, text);
}

#endif
