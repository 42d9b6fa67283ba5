/* The handlers of the route table; request.h explains handlers. */
#ifndef TOLLBOOK_SERVER_API_HANDLERS_H
#define TOLLBOOK_SERVER_API_HANDLERS_H

#include "http/request.h"
#include "http/server.h"
#include "tollbook/proof.h"

struct tb_machine;
#define CONSOLE_ADDRESS "/console/" /* where browsers are redirected */

/* info.c: what the server knows of itself, on the thread that has this reader. */
void api_machine(const request *r, tb_store *store, struct tb_machine *ret);

/* insights.c */
void api_insights(request *r);
#define API_NO_ACCOUNT INT64_MIN /* none was asked for */
/* A customer's key sees its own account; an operator's key names one, or sees the fleet (TB_ALL). */
TB_MUST_USE tb_code api_choose_account(const request *r, int64_t asked, int64_t *ret, tb_error *err);

/* account_metrics.c */
void api_account_metrics(request *r);
void api_account_metrics_done(request *r);

/* why.c */
void api_why(request *r);
void api_cached_done(request *r); /* cached.c */
/* statistics.c */
void api_statistics(request *r);
void api_optimizer(request *r);
void api_queue(request *r);
void api_safehop(request *r);

/* pullzones.c */
void api_pullzones(request *r);
void api_pullzone(request *r);
void api_pullzone_count(request *r);
void api_nothing_listed(request *r);

/* search.c */
void api_search(request *r);

/* audit.c */
void api_user_audit(request *r);

/* user.c */
void api_user(request *r);
void api_country(request *r);
void api_nothing(request *r);

/* purge.c */
void api_purge_zone(request *r);
void api_purge_zone_done(request *r);
void api_purge_url(request *r);
void api_purge_url_done(request *r);

/* balancer_usage.c */
void api_balancer_usage(request *r);

/* billing.c */
/* The account that the request asks about: a customer's key has its own, an operator's names one, such as account=7. */
TB_MUST_USE tb_code api_account_asked(request *r, int64_t *ret_account, tb_error *err);
void api_billing(request *r);
void api_billing_summary(request *r);
void api_payment_requests(request *r);
void api_affiliate(request *r);

/* forecast.c */
void api_forecast(request *r);

/* account.c, invoices.c, drawn.c */
void api_account_statement(request *r);
void api_drawn_done(request *r);
void api_invoices(request *r);
void api_invoice(request *r);
void api_record_pdf(request *r);
void api_invoice_explain(request *r);
void api_invoice_forms(request *r);
void api_invoice_proof(request *r);
void api_usage_receipts(request *r);

/* whatif.c */
void api_whatif(request *r);
void api_whatif_done(request *r);

/* ingest.c */
void api_ingest_logs(request *r);
void api_ingest_cells(request *r);
void api_ingest_buckets(request *r);
void api_ingest_done(request *r);

/* events.c */
void api_events(request *r);
void api_events_done(request *r);
periodic_task api_expire_event_ids(void); /* deletes ids of old months */

/* withdraw.c */
void api_withdraw_logs(request *r);
void api_withdraw_buckets(request *r);
void api_withdraw_done(request *r);
/* segments.c */
void api_ingest_segments(request *r);

/* logs_v2.c, logs_v1.c */
void api_logs_v2(request *r);
void api_logs_summary(request *r); /* finish: api_cached_done */
void api_logs_v1(request *r);
/* origin_errors.c */
void api_origin_errors(request *r);

/* operations.c */
void api_operations(request *r);
void api_operation(request *r);
void api_operation_named(request *r);
void api_operation_done(request *r);

/* replica.c, replica_base.c */
void api_replica_pieces(request *r);
void api_replica_pieces_done(request *r);
void api_replica_status(request *r);
void api_replica_status_done(request *r);
void api_replica_epoch(request *r);
/* Whether the request names a higher epoch than a primary's file has: the primary is superseded then, and `finish` is called
 * once the file is told. */
bool api_replica_meets(request *r);
/* In `finish`: whether it was called for that; the answer is made then. */
bool api_replica_met(request *r);
/* A superseded server gives no pieces. */
TB_MUST_USE tb_code api_replica_check_role(const request *r, tb_error *err);
TB_MUST_USE tb_code api_replica_state(tb_store *store, tb_replication *ret, tb_error *err);
void api_replica_promote(request *r);
void api_replica_promote_done(request *r);
void api_replica_base(request *r);
void api_replica_base_done(request *r);
/* What this server adds to the file's own state of replication; the followers are put into `list`. */
tb_replica_server api_replica_known(server *s, tb_follower list[FOLLOWERS_SHOWN]);
void api_replica_metrics(request *r, tb_buf *out);

/* apikey.c */
void api_apikey(request *r);

/* shield.c, shield_export.c, shield_zones.c */
bool api_read_day(tb_text text, int64_t *ret_day); /* "05-01-2025" is 1 May */
void api_shield_zones(request *r);
void api_shield_zone(request *r);
void api_shield_zone_of(request *r);
/* shield_metrics.c */
void api_shield_overview(request *r); /* finish of all metrics: api_cached_done */
void api_shield_detailed(request *r);
void api_shield_bots(request *r);
void api_shield_uploads(request *r);
void api_shield_guardian(request *r);
void api_shield_rule(request *r);
void api_shield_rate_limits(request *r);
void api_shield_search(request *r);
void api_shield_search_done(request *r);
void api_shield_events(request *r);
void api_shield_export(request *r);

/* containers.c, deploy.c, digest.c */
void api_mc_apps(request *r);
void api_mc_app(request *r);
void api_mc_registries(request *r);
void api_mc_limits(request *r);
void api_mc_deploy(request *r);
void api_mc_deployed(request *r);
void api_mc_deployment(request *r);
void api_mc_digest(request *r);
void api_mc_digested(request *r);

/* console.c, session.c */
void api_root(request *r);
void api_console_page(request *r);
void api_console_asset(request *r);
void api_console_open(request *r);
void api_sign_in(request *r);
void api_sign_out(request *r);
void api_session(request *r);

/* info.c */
void api_region(request *r);
void api_proof_checkpoint(request *r);
void api_proof_tile(request *r);
/* Closes days for the log of documents, some minutes after midnight, UTC. key: signs checkpoints, also of operations; NULL: none
 * are signed. Called once, before the server starts. */
periodic_task api_proof_days(const tb_note_secret *key);
const tb_note_secret *api_proof_key(void); /* NULL: none */
void api_healthz(request *r);
void api_readyz(request *r);
void api_metrics(request *r);
void api_openapi(request *r);

/* Made when building: of docs/openapi.yaml, and of Debian's iso-codes. */
extern const zipped_text openapi_json, countries_json;

#endif
