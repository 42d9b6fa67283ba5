/* The pull zone as clients see it: every field of PullZoneModel in its order, with its type and the
 * value on a fresh zone (docs/pull-zone.md), and the models inside it. One table: it checks the
 * catalogue's settings, writes the answers, and the documents are compared with it.
 *
 * Only what differs from a fresh zone is stored. */
#ifndef TOLLBOOK_PULLZONE_H
#define TOLLBOOK_PULLZONE_H

#include "tollbook/buf.h"
#include "tollbook/decimal.h"

TB_API_BEGIN

typedef enum tb_field_type {
    TB_FIELD_BOOL,
    TB_FIELD_INT,     /* 32 bits, lo..hi */
    TB_FIELD_INT64,   /* lo..hi */
    TB_FIELD_DOUBLE,  /* a decimal of at most 15 digits after the point */
    TB_FIELD_DECIMAL, /* the same, 0 or more: money */
    TB_FIELD_STRING,
    TB_FIELD_STRINGS, /* a list of strings */
    TB_FIELD_MAP,     /* names to strings */
    TB_FIELD_ENUM,    /* lo: which tb_enum; a number on output, a number or a name on input */
    TB_FIELD_MODELS,  /* a list of objects; lo: which tb_model */
} tb_field_type;

/* X(ENUM, type's name, names from 0 on separated by commas, an empty one if there is none) */
#define TB_ENUMS(X)                                                                                \
    X(EXECUTION_PHASE, "ExecutionPhase", "Cache,LoadBalancer,PreCache")                            \
    X(PULL_ZONE_ORIGIN_TYPE, "PullZoneOriginType",                                                 \
      "OriginUrl,DnsAccelerate,StorageZone,LoadBalancer,EdgeScript,MagicContainers,PushZone")      \
    X(PULL_ZONE_TYPE, "PullZoneType", "Premium,Volume")                                            \
    X(PULL_ZONE_LOG_FORWARDER_PROTOCOL_TYPE, "PullZoneLogForwarderProtocolType",                   \
      "UDP,TCP,TCPEncrypted,DataDog")                                                              \
    X(OPTIMIZER_HTML_TO_MARKDOWN_TYPE, "OptimizerHtmlToMarkdownType", "Off,Simple")                \
    X(OPTIMIZER_WATERMARK_POSITION, "OptimizerWatermarkPosition",                                  \
      "BottomLeft,BottomRight,TopLeft,TopRight,Center,CenterStretch")                              \
    X(PERMA_CACHE_TYPE, "PermaCacheType", "Automatic,Manual")                                      \
    X(LOG_ANONYMIZATION_TYPE, "LogAnonymizationType", "OneDigit,Drop")                             \
    X(PULL_ZONE_LOG_FORMAT, "PullZoneLogFormat", "Plain,JSON")                                     \
    X(SHIELD_DDOS_PROTECTION_TYPE, "ShieldDDosProtectionType",                                     \
      "DetectOnly,ActiveStandard,ActiveAggressive")                                                \
    X(STICKY_SESSION_TYPE, "StickySessionType", "Off,On")                                          \
    X(TLS_SECURITY_LEVEL_TYPE, "TlsSecurityLevelType", "Legacy,Compatible,ModernOnly")             \
    X(IP_FAMILY_POLICY, "IpFamilyPolicy", "IPv4Only,DualStack,DualStackPreferIPv6,IPv6Only")       \
    X(PRELOADING_SCREEN_THEME, "PreloadingScreenTheme", "Light,Dark")                              \
    X(PRIVATE_KEY_TYPE, "PrivateKeyType", "Ecdsa,Rsa")                                             \
    X(CERTIFICATE_PROVISION_TYPE, "CertificateProvisionType",                                      \
      "Unknown,Http01,Dns01,Custom,Managed")                                                       \
    X(MATCHING_TYPE, "TriggerMatchingType", "MatchAny,MatchAll,MatchNone")                         \
    X(TRIGGER_TYPE, "TriggerTypes",                                                                \
      "Url,RequestHeader,ResponseHeader,UrlExtension,CountryCode,RemoteIP,UrlQueryString,"         \
      "RandomChance,StatusCode,RequestMethod,CookieValue,CountryStateCode,"                        \
      "OriginRetryAttemptCount,OriginConnectionError")                                             \
    X(EDGE_RULE_ACTION_TYPE, "EdgeRuleActionType",                                                 \
      "ForceSSL,Redirect,OriginUrl,OverrideCacheTime,BlockRequest,SetResponseHeader,"              \
      "SetRequestHeader,ForceDownload,DisableTokenAuthentication,EnableTokenAuthentication,"       \
      "OverrideCacheTimePublic,IgnoreQueryString,DisableOptimizer,ForceCompression,"               \
      "SetStatusCode,BypassPermaCache,OverrideBrowserCacheTime,OriginStorage,"                     \
      "SetNetworkRateLimit,SetConnectionLimit,SetRequestsPerSecondLimit,RunEdgeScript,"            \
      "OriginMagicContainers,DisableWAF,RetryOrigin,OverrideBrowserCacheResponseHeader,"           \
      "RemoveBrowserCacheResponseHeader,DisableShieldChallenge,DisableShield,"                     \
      "DisableShieldBotDetection,BypassAwsS3Authentication,DisableShieldAccessLists,"              \
      "DisableShieldRateLimiting,EnableRequestCoalescing,DisableRequestCoalescing,,,"              \
      "StripCookiesClientToOrigin")

typedef enum tb_enum {
#define TB_X(e, name, values) TB_ENUM_##e,
    TB_ENUMS(TB_X)
#undef TB_X
        TB_ENUM_COUNT
} tb_enum;

/* X(ENUM, its table in pullzone.c, type's name) */
#define TB_MODELS(X)                                                                               \
    X(HOSTNAME, hostname, "HostnameModel")                                                         \
    X(EDGE_RULE, edge_rule, "EdgeRuleV2Model")                                                     \
    X(TRIGGER, trigger, "Trigger")                                                                 \
    X(EXTRA_ACTION, extra_action, "ExtraAction")                                                   \
    X(OPTIMIZER_CLASS, named_properties, "OptimizerClassModel")                                    \
    X(BLUEPRINT, named_properties, "BunnyAiImageBlueprintModel")

typedef enum tb_model {
#define TB_X(e, fields, name) TB_MODEL_##e,
    TB_MODELS(TB_X)
#undef TB_X
        TB_MODEL_COUNT
} tb_model;

typedef struct tb_field {
    const char *name;
    tb_field_type type;
    bool nullable;
    bool live;         /* known from elsewhere: not to be set in the catalogue's settings */
    const char *fresh; /* as JSON */
    int64_t lo, hi;
} tb_field;

/* X(name, type, nullable, on a fresh zone, lo, hi, LIVE or SET), in the order of the answer.
 * Bounds of widths and qualities are the specification's, of discounts billing's; the rest are those
 * of their types. OptimizerPricing, OriginType, LoadBalancerId, OriginLinkValue and
 * TlsSecurityLevel follow from other things where they are not set: see tb_pullzone_encode. */
#define TB_PULLZONE_FIELDS(X)                                                                      \
    X(Id, INT64, 0, "0", INT64_MIN, INT64_MAX, LIVE)                                               \
    X(Name, STRING, 1, "null", 0, 0, LIVE)                                                         \
    X(OriginUrl, STRING, 1, "\"\"", 0, 0, SET)                                                     \
    X(Enabled, BOOL, 0, "true", 0, 0, SET)                                                         \
    X(Suspended, BOOL, 0, "false", 0, 0, SET)                                                      \
    X(Hostnames, MODELS, 1, "[]", TB_MODEL_HOSTNAME, 0, LIVE)                                      \
    X(StorageZoneId, INT64, 0, "0", INT64_MIN, INT64_MAX, SET)                                     \
    X(EdgeScriptId, INT64, 0, "-1", INT64_MIN, INT64_MAX, SET)                                     \
    X(EdgeScriptExecutionPhase, ENUM, 0, "0", TB_ENUM_EXECUTION_PHASE, 0, SET)                     \
    X(MiddlewareScriptId, INT64, 1, "null", INT64_MIN, INT64_MAX, SET)                             \
    X(MagicContainersAppId, STRING, 1, "null", 0, 0, SET)                                          \
    X(MagicContainersEndpointId, STRING, 1, "null", 0, 0, SET)                                     \
    X(AllowedReferrers, STRINGS, 1, "[]", 0, 0, SET)                                               \
    X(BlockedReferrers, STRINGS, 1, "[]", 0, 0, SET)                                               \
    X(BlockedIps, STRINGS, 1, "[]", 0, 0, SET)                                                     \
    X(EnableGeoZoneUS, BOOL, 0, "true", 0, 0, SET)                                                 \
    X(EnableGeoZoneEU, BOOL, 0, "true", 0, 0, SET)                                                 \
    X(EnableGeoZoneASIA, BOOL, 0, "true", 0, 0, SET)                                               \
    X(EnableGeoZoneSA, BOOL, 0, "true", 0, 0, SET)                                                 \
    X(EnableGeoZoneAF, BOOL, 0, "true", 0, 0, SET)                                                 \
    X(IpFamilyPolicy, ENUM, 0, "1", TB_ENUM_IP_FAMILY_POLICY, 0, SET)                              \
    X(ZoneSecurityEnabled, BOOL, 0, "false", 0, 0, SET)                                            \
    X(ZoneSecurityKey, STRING, 1, "null", 0, 0, SET)                                               \
    X(ZoneSecurityIncludeHashRemoteIP, BOOL, 0, "false", 0, 0, SET)                                \
    X(IgnoreQueryStrings, BOOL, 0, "true", 0, 0, SET)                                              \
    X(MonthlyBandwidthLimit, INT64, 0, "0", 0, INT64_MAX, SET)                                     \
    X(MonthlyBandwidthUsed, INT64, 0, "0", INT64_MIN, INT64_MAX, LIVE)                             \
    X(MonthlyCharges, DECIMAL, 0, "0.0", 0, 0, LIVE)                                               \
    X(AddHostHeader, BOOL, 0, "false", 0, 0, SET)                                                  \
    X(OriginHostHeader, STRING, 1, "\"\"", 0, 0, SET)                                              \
    X(Type, ENUM, 0, "0", TB_ENUM_PULL_ZONE_TYPE, 0, LIVE)                                         \
    X(AccessControlOriginHeaderExtensions, STRINGS, 1,                                             \
      "[\"eot\",\"ttf\",\"woff\",\"woff2\",\"css\",\"js\",\"jpg\",\"jpeg\",\"png\",\"webp\","      \
      "\"gif\",\"mp3\",\"mp4\",\"mpeg\",\"svg\",\"webm\"]", 0, 0, SET)                             \
    X(EnableAccessControlOriginHeader, BOOL, 0, "true", 0, 0, SET)                                 \
    X(DisableCookies, BOOL, 0, "true", 0, 0, SET)                                                  \
    X(BudgetRedirectedCountries, STRINGS, 1, "[]", 0, 0, SET)                                      \
    X(BlockedCountries, STRINGS, 1, "[]", 0, 0, SET)                                               \
    X(EnableOriginShield, BOOL, 0, "false", 0, 0, SET)                                             \
    X(CacheControlMaxAgeOverride, INT64, 0, "-1", INT64_MIN, INT64_MAX, SET)                       \
    X(CacheControlPublicMaxAgeOverride, INT64, 0, "-1", INT64_MIN, INT64_MAX, SET)                 \
    X(BurstSize, INT, 0, "0", INT32_MIN, INT32_MAX, SET)                                           \
    X(RequestLimit, INT, 0, "0", INT32_MIN, INT32_MAX, SET)                                        \
    X(BlockRootPathAccess, BOOL, 0, "false", 0, 0, SET)                                            \
    X(BlockPostRequests, BOOL, 0, "false", 0, 0, SET)                                              \
    X(LimitRatePerSecond, DOUBLE, 0, "0.0", 0, 0, SET)                                             \
    X(LimitRateAfter, DOUBLE, 0, "0.0", 0, 0, SET)                                                 \
    X(ConnectionLimitPerIPCount, INT, 0, "0", INT32_MIN, INT32_MAX, SET)                           \
    X(PriceOverride, DECIMAL, 0, "0.0", 0, 0, SET)                                                 \
    X(OptimizerPricing, DECIMAL, 0, "9.5", 0, 0, SET)                                              \
    X(AddCanonicalHeader, BOOL, 0, "false", 0, 0, SET)                                             \
    X(EnableLogging, BOOL, 0, "true", 0, 0, SET)                                                   \
    X(EnableCacheSlice, BOOL, 0, "false", 0, 0, SET)                                               \
    X(EnableSmartCache, BOOL, 0, "false", 0, 0, SET)                                               \
    X(EdgeRules, MODELS, 1, "[]", TB_MODEL_EDGE_RULE, 0, SET)                                      \
    X(EnableWebPVary, BOOL, 0, "false", 0, 0, SET)                                                 \
    X(EnableAvifVary, BOOL, 0, "false", 0, 0, SET)                                                 \
    X(EnableCountryCodeVary, BOOL, 0, "false", 0, 0, SET)                                          \
    X(EnableCountryStateCodeVary, BOOL, 0, "false", 0, 0, SET)                                     \
    X(EnableMobileVary, BOOL, 0, "false", 0, 0, SET)                                               \
    X(EnableCookieVary, BOOL, 0, "false", 0, 0, SET)                                               \
    X(CookieVaryParameters, STRINGS, 1, "[]", 0, 0, SET)                                           \
    X(EnableHostnameVary, BOOL, 0, "false", 0, 0, SET)                                             \
    X(CnameDomain, STRING, 1, "\"b-cdn.net\"", 0, 0, SET)                                          \
    X(AWSSigningEnabled, BOOL, 0, "false", 0, 0, SET)                                              \
    X(AWSSigningKey, STRING, 1, "null", 0, 0, SET)                                                 \
    X(AWSSigningSecret, STRING, 1, "null", 0, 0, SET)                                              \
    X(AWSSigningRegionName, STRING, 1, "null", 0, 0, SET)                                          \
    X(LoggingIPAnonymizationEnabled, BOOL, 0, "true", 0, 0, SET)                                   \
    X(EnableTLS1, BOOL, 0, "true", 0, 0, SET)                                                      \
    X(EnableTLS1_1, BOOL, 0, "true", 0, 0, SET)                                                    \
    X(TlsSecurityLevel, ENUM, 0, "0", TB_ENUM_TLS_SECURITY_LEVEL_TYPE, 0, SET)                     \
    X(VerifyOriginSSL, BOOL, 0, "false", 0, 0, SET)                                                \
    X(ErrorPageEnableCustomCode, BOOL, 0, "false", 0, 0, SET)                                      \
    X(ErrorPageCustomCode, STRING, 1, "null", 0, 0, SET)                                           \
    X(ErrorPageEnableStatuspageWidget, BOOL, 0, "false", 0, 0, SET)                                \
    X(ErrorPageStatuspageCode, STRING, 1, "null", 0, 0, SET)                                       \
    X(ErrorPageWhitelabel, BOOL, 0, "false", 0, 0, SET)                                            \
    X(OriginShieldZoneCode, STRING, 1, "\"FR\"", 0, 0, SET)                                        \
    X(LogForwardingEnabled, BOOL, 0, "false", 0, 0, SET)                                           \
    X(LogForwardingHostname, STRING, 1, "null", 0, 0, SET)                                         \
    X(LogForwardingPort, INT, 0, "0", INT32_MIN, INT32_MAX, SET)                                   \
    X(LogForwardingToken, STRING, 1, "null", 0, 0, SET)                                            \
    X(LogForwardingProtocol, ENUM, 0, "0", TB_ENUM_PULL_ZONE_LOG_FORWARDER_PROTOCOL_TYPE, 0, SET)  \
    X(LoggingSaveToStorage, BOOL, 0, "false", 0, 0, SET)                                           \
    X(LoggingStorageZoneId, INT64, 0, "0", INT64_MIN, INT64_MAX, SET)                              \
    X(FollowRedirects, BOOL, 0, "false", 0, 0, SET)                                                \
    X(VideoLibraryId, INT64, 0, "-1", INT64_MIN, INT64_MAX, SET)                                   \
    X(DnsRecordId, INT64, 0, "0", INT64_MIN, INT64_MAX, SET)                                       \
    X(DnsZoneId, INT64, 0, "0", INT64_MIN, INT64_MAX, SET)                                         \
    X(DnsRecordValue, STRING, 1, "null", 0, 0, SET)                                                \
    X(OptimizerEnabled, BOOL, 0, "false", 0, 0, SET)                                               \
    X(OptimizerTunnelEnabled, BOOL, 0, "false", 0, 0, SET)                                         \
    X(OptimizerDesktopMaxWidth, INT, 0, "1600", 0, 5000, SET)                                      \
    X(OptimizerMobileMaxWidth, INT, 0, "800", 0, 5000, SET)                                        \
    X(OptimizerImageQuality, INT, 0, "85", 1, 100, SET)                                            \
    X(OptimizerMobileImageQuality, INT, 0, "70", 1, 100, SET)                                      \
    X(OptimizerEnableWebP, BOOL, 0, "true", 0, 0, SET)                                             \
    X(OptimizerPrerenderHtml, BOOL, 0, "false", 0, 0, SET)                                         \
    X(OptimizerHtmlToMarkdown, ENUM, 0, "0", TB_ENUM_OPTIMIZER_HTML_TO_MARKDOWN_TYPE, 0, SET)      \
    X(OptimizerLlmsTxt, BOOL, 0, "false", 0, 0, SET)                                               \
    X(OptimizerEnableManipulationEngine, BOOL, 0, "true", 0, 0, SET)                               \
    X(OptimizerMinifyCSS, BOOL, 0, "true", 0, 0, SET)                                              \
    X(OptimizerMinifyJavaScript, BOOL, 0, "true", 0, 0, SET)                                       \
    X(OptimizerWatermarkEnabled, BOOL, 0, "false", 0, 0, SET)                                      \
    X(OptimizerWatermarkUrl, STRING, 1, "\"\"", 0, 0, SET)                                         \
    X(OptimizerWatermarkPosition, ENUM, 0, "0", TB_ENUM_OPTIMIZER_WATERMARK_POSITION, 0, SET)      \
    X(OptimizerWatermarkOffset, DOUBLE, 0, "3.0", 0, 0, SET)                                       \
    X(OptimizerWatermarkMinImageSize, INT, 0, "300", INT32_MIN, INT32_MAX, SET)                    \
    X(OptimizerAutomaticOptimizationEnabled, BOOL, 0, "true", 0, 0, SET)                           \
    X(PermaCacheStorageZoneId, INT64, 0, "0", INT64_MIN, INT64_MAX, SET)                           \
    X(PermaCacheType, ENUM, 0, "0", TB_ENUM_PERMA_CACHE_TYPE, 0, SET)                              \
    X(OriginRetries, INT, 0, "0", INT32_MIN, INT32_MAX, SET)                                       \
    X(OriginConnectTimeout, INT, 0, "10", INT32_MIN, INT32_MAX, SET)                               \
    X(OriginResponseTimeout, INT, 0, "60", INT32_MIN, INT32_MAX, SET)                              \
    X(UseStaleWhileUpdating, BOOL, 0, "false", 0, 0, SET)                                          \
    X(UseStaleWhileOffline, BOOL, 0, "false", 0, 0, SET)                                           \
    X(OriginRetry5XXResponses, BOOL, 0, "false", 0, 0, SET)                                        \
    X(OriginRetryConnectionTimeout, BOOL, 0, "true", 0, 0, SET)                                    \
    X(OriginRetryResponseTimeout, BOOL, 0, "true", 0, 0, SET)                                      \
    X(OriginRetryDelay, INT, 0, "0", INT32_MIN, INT32_MAX, SET)                                    \
    X(QueryStringVaryParameters, STRINGS, 1, "[]", 0, 0, SET)                                      \
    X(OriginShieldEnableConcurrencyLimit, BOOL, 0, "false", 0, 0, SET)                             \
    X(OriginShieldMaxConcurrentRequests, INT, 0, "200", INT32_MIN, INT32_MAX, SET)                 \
    X(EnableSafeHop, BOOL, 0, "false", 0, 0, SET)                                                  \
    X(CacheErrorResponses, BOOL, 0, "false", 0, 0, SET)                                            \
    X(OriginShieldQueueMaxWaitTime, INT, 0, "30", INT32_MIN, INT32_MAX, SET)                       \
    X(OriginShieldMaxQueuedRequests, INT, 0, "5000", INT32_MIN, INT32_MAX, SET)                    \
    X(OptimizerClasses, MODELS, 1, "[]", TB_MODEL_OPTIMIZER_CLASS, 0, SET)                         \
    X(OptimizerForceClasses, BOOL, 0, "false", 0, 0, SET)                                          \
    X(OptimizerStaticHtmlEnabled, BOOL, 0, "false", 0, 0, SET)                                     \
    X(OptimizerStaticHtmlWordPressPath, STRING, 1, "null", 0, 0, SET)                              \
    X(OptimizerStaticHtmlWordPressBypassCookie, STRING, 1, "null", 0, 0, SET)                      \
    X(UseBackgroundUpdate, BOOL, 0, "false", 0, 0, SET)                                            \
    X(EnableAutoSSL, BOOL, 0, "false", 0, 0, SET)                                                  \
    X(EnableQueryStringOrdering, BOOL, 0, "true", 0, 0, SET)                                       \
    X(LogAnonymizationType, ENUM, 0, "0", TB_ENUM_LOG_ANONYMIZATION_TYPE, 0, SET)                  \
    X(LogFormat, ENUM, 0, "1", TB_ENUM_PULL_ZONE_LOG_FORMAT, 0, SET)                               \
    X(LogForwardingFormat, ENUM, 0, "1", TB_ENUM_PULL_ZONE_LOG_FORMAT, 0, SET)                     \
    X(ShieldDDosProtectionType, ENUM, 0, "1", TB_ENUM_SHIELD_DDOS_PROTECTION_TYPE, 0, SET)         \
    X(ShieldDDosProtectionEnabled, BOOL, 0, "false", 0, 0, SET)                                    \
    X(OriginType, ENUM, 0, "0", TB_ENUM_PULL_ZONE_ORIGIN_TYPE, 0, SET)                             \
    X(EnableRequestCoalescing, BOOL, 0, "false", 0, 0, SET)                                        \
    X(RequestCoalescingTimeout, INT, 0, "30", INT32_MIN, INT32_MAX, SET)                           \
    X(OriginLinkValue, STRING, 1, "\"\"", 0, 0, SET)                                               \
    X(DisableLetsEncrypt, BOOL, 0, "false", 0, 0, SET)                                             \
    X(EnableBunnyImageAi, BOOL, 0, "false", 0, 0, SET)                                             \
    X(BunnyAiImageBlueprints, MODELS, 1, "[]", TB_MODEL_BLUEPRINT, 0, SET)                         \
    X(PreloadingScreenEnabled, BOOL, 0, "false", 0, 0, SET)                                        \
    X(PreloadingScreenShowOnFirstVisit, BOOL, 0, "false", 0, 0, SET)                               \
    X(PreloadingScreenCode, STRING, 1, "\"\"", 0, 0, SET)                                          \
    X(PreloadingScreenLogoUrl, STRING, 1, "null", 0, 0, SET)                                       \
    X(PreloadingScreenCodeEnabled, BOOL, 0, "false", 0, 0, SET)                                    \
    X(PreloadingScreenTheme, ENUM, 0, "0", TB_ENUM_PRELOADING_SCREEN_THEME, 0, SET)                \
    X(PreloadingScreenDelay, INT, 0, "1000", INT32_MIN, INT32_MAX, SET)                            \
    X(EUUSDiscount, INT, 0, "0", 0, 100, SET)                                                      \
    X(SouthAmericaDiscount, INT, 0, "0", 0, 100, SET)                                              \
    X(AfricaDiscount, INT, 0, "0", 0, 100, SET)                                                    \
    X(AsiaOceaniaDiscount, INT, 0, "0", 0, 100, SET)                                               \
    X(RoutingFilters, STRINGS, 1, "[\"all\"]", 0, 0, SET)                                          \
    X(BlockNoneReferrer, BOOL, 0, "false", 0, 0, SET)                                              \
    X(StickySessionType, ENUM, 0, "0", TB_ENUM_STICKY_SESSION_TYPE, 0, SET)                        \
    X(StickySessionCookieName, STRING, 1, "null", 0, 0, SET)                                       \
    X(StickySessionClientHeaders, STRING, 1, "null", 0, 0, SET)                                    \
    X(LoadBalancerId, INT64, 1, "null", INT64_MIN, INT64_MAX, SET)                                 \
    X(UserId, STRING, 1, "null", 0, 0, SET)                                                        \
    X(CacheVersion, INT64, 0, "1", INT64_MIN, INT64_MAX, SET)                                      \
    X(OptimizerEnableUpscaling, BOOL, 0, "false", 0, 0, SET)                                       \
    X(EnableWebSockets, BOOL, 0, "true", 0, 0, SET)                                                \
    X(MaxWebSocketConnections, INT, 0, "500", INT32_MIN, INT32_MAX, SET)                           \
    X(EnableExtendedLogging, BOOL, 0, "false", 0, 0, SET)                                          \
    X(CacheKeyHeaders, STRING, 1, "null", 0, 0, SET)

#define TB_PULLZONE_FIELD_COUNT 170

/* Their fields, in the order of the answer. */
extern const tb_field tb_pullzone_fields[TB_PULLZONE_FIELD_COUNT];
const tb_field *tb_model_fields(tb_model model, size_t *ret_n);
const char *tb_model_name(tb_model model);
const char *tb_enum_name(tb_enum e);
/* The names of e's values, separated by commas, from 0 on; empty ones have no value. */
const char *tb_enum_values(tb_enum e);
/* NULL if there is no such field. */
const tb_field *tb_pullzone_field(const char *name, size_t len);

/* The content of a pull zone's answer. Text is borrowed. */
typedef struct tb_pullzone {
    int64_t id, account;
    const char *name;
    bool volume;
    const char *settings;  /* JSON object of fields that differ from a fresh zone's */
    const char *hostnames; /* the catalogue's list as JSON, NULL: none */
    int64_t balancer;      /* it is attached to; 0: none */
    int64_t limit;         /* MonthlyBandwidthLimit, bytes; 0: none */
    bool enabled;
    tb_i128 bytes;              /* of the running month */
    tb_sum charges;             /* exact */
    tb_decimal optimizer_price; /* the book's, for zones without one of their own */
    bool has_optimizer_price;
} tb_pullzone;

/* A GUID that names a thing, the same every time: an account's is its zones' UserId. Terminated. */
#define TB_GUID_TEXT 36
void tb_guid(const char *what, int64_t id, char out[TB_GUID_TEXT + 1]);

/* Appends the PullZoneModel. Hostnames begin with the system's own, name.CnameDomain. Certificates
 * are null unless asked for; private keys always are. OriginType is 2 with a storage zone and 3
 * with a load balancer; OriginLinkValue is OriginUrl; TlsSecurityLevel is 1 where neither TLS 1 nor
 * 1.1 is allowed; ZoneSecurityKey and UserId are made from the ids (they are identifiers, not secrets), unless the
 * catalogue sets them. Invalid settings (in a file of an older version) are skipped, and so are all hostnames if one of
 * them is invalid; verify names them. Errors: NOMEM; CORRUPT where settings or hostnames are not JSON. */
TB_MUST_USE tb_code tb_pullzone_encode(const tb_pullzone *zone, bool certificates, tb_buf *out,
                                       tb_error *err);

TB_API_END

#endif
