/* The words of an invoice in its languages: one row a word, one column a language. */
#ifndef TOLLBOOK_PRINT_WORDS_H
#define TOLLBOOK_PRINT_WORDS_H

#include "tollbook/buf.h"

typedef enum tb__language { TB__ENGLISH, TB__GERMAN, TB__LANGUAGES } tb__language;

#define TB__WORDS(X)                                                                               \
    X(INVOICE, "Invoice", "Rechnung")                                                              \
    X(CREDIT_NOTE, "Credit note", "Rechnungskorrektur")                                            \
    X(STATEMENT, "Statement", "Abrechnung")                                                        \
    X(DRAFT, "Draft", "Entwurf")                                                                   \
    X(VOID, "Void", "Storniert")                                                                   \
    X(NOT_ISSUED, "Not issued yet", "Noch nicht ausgestellt")                                      \
    X(ISSUED, "Issue date", "Ausstellungsdatum")                                                   \
    X(DUE, "Due date", "F\u00e4llig am")                                                           \
    X(PERIOD, "Period (UTC)", "Zeitraum (UTC)")                                                    \
    X(REFERENCE, "Your reference", "Ihre Referenz")                                                \
    X(ACCOUNT, "Account", "Konto")                                                                 \
    X(CREDITS, "Corrects invoice", "Korrigiert Rechnung")                                          \
    X(REPLACES, "Replaces invoice", "Ersetzt Rechnung")                                            \
    X(FROM, "From", "Von")                                                                         \
    X(BILL_TO, "Bill to", "An")                                                                    \
    X(DELIVERED_TO, "Delivered to", "Geliefert an")                                                \
    X(VAT_ID, "VAT ID", "USt-IdNr.")                                                               \
    X(TAX_ID, "Tax number", "Steuernummer")                                                        \
    X(REGISTRATION, "Registration", "Registernummer")                                              \
    X(HERO_DUE, "Amount due", "Zu zahlen")                                                         \
    X(HERO_DUE_BY, "Amount due by %s", "Zu zahlen bis %s")                                         \
    X(HERO_CREDIT, "Credited to you", "Ihnen gutgeschrieben")                                      \
    X(HERO_TOTAL, "Total", "Gesamtbetrag")                                                         \
    X(VOID_TITLE, "This document is void.", "Dieses Dokument ist storniert.")                      \
    X(VOID_TEXT, "Nothing is owed for it. It is kept for its number.",                             \
      "Daf\u00fcr ist nichts zu zahlen. Es wird wegen seiner Nummer aufbewahrt.")                  \
    X(DRAFT_TITLE, "This is a draft.", "Dies ist ein Entwurf.")                                    \
    X(DRAFT_TEXT, "It has no number and asks for no payment.",                                     \
      "Er hat keine Nummer, und es ist nichts zu zahlen.")                                         \
    X(UNPRICED_TITLE, "Usage without a price", "Nutzung ohne Preis")                               \
    X(UNPRICED_TEXT, "This draft cannot be made final until these are mended:",                    \
      "Dieser Entwurf kann erst ausgestellt werden, wenn Folgendes behoben ist:")                  \
    X(NO_CHARGES, "Nothing is charged for this month.",                                            \
      "F\u00fcr diesen Monat wird nichts berechnet.")                                              \
    X(SUMMARY, "Summary", "\u00dcbersicht")                                                        \
    X(DESCRIPTION, "Description", "Beschreibung")                                                  \
    X(QUANTITY, "Quantity", "Menge")                                                               \
    X(PRICE, "Price", "Preis")                                                                     \
    X(AMOUNT, "Amount (%s)", "Betrag (%s)")                                                        \
    X(LINE, "No.", "Nr.")                                                                          \
    X(SUBTOTAL, "Subtotal", "Zwischensumme")                                                       \
    X(TOTAL, "Total", "Gesamtbetrag")                                                              \
    X(TOTAL_CREDIT, "Total credit", "Gutschriftsbetrag")                                           \
    X(PAID, "Paid", "Bezahlt")                                                                     \
    X(AMOUNT_DUE, "Amount due", "Zu zahlen")                                                       \
    X(VAT, "VAT", "USt.")                                                                          \
    X(TAX_ON, "%s % on %s", "%s % auf %s")                                                       \
    X(ZERO_RATED, "zero rated", "Nullsatz")                                                        \
    X(EXEMPT, "Exempt from VAT", "Umsatzsteuerfrei")                                               \
    X(REVERSE_CHARGE, "Reverse charge", "Steuerschuldnerschaft des Leistungsempf\u00e4ngers")      \
    X(INTRA_UNION, "Intra-Community supply, exempt from VAT",                                      \
      "Innergemeinschaftliche Lieferung, umsatzsteuerfrei")                                        \
    X(EXPORT, "Export outside the EU, exempt from VAT", "Ausfuhr, umsatzsteuerfrei")               \
    X(NOT_SUBJECT, "Not subject to VAT", "Nicht umsatzsteuerbar")                                  \
    X(TAX_IN, "Tax in %s (1 %s = %s %s)", "Steuer in %s (1 %s = %s %s)")                           \
    X(PAYMENT, "Payment", "Zahlung")                                                               \
    X(PAY_BY, "Please pay %s by %s.", "Bitte zahlen Sie %s bis zum %s.")                           \
    X(PAY, "Please pay %s.", "Bitte zahlen Sie %s.")                                               \
    X(PAY_NOTHING, "Nothing is left to pay.", "Es ist nichts mehr zu zahlen.")                     \
    X(TERMS, "Payment is due within %s of the issue date.",                                        \
      "Zahlbar innerhalb von %s ab Ausstellungsdatum.")                                            \
    X(CREDIT_TEXT, "This amount is credited to your account.",                                     \
      "Dieser Betrag wird Ihrem Konto gutgeschrieben.")                                            \
    X(ACCOUNT_NAME, "Account holder", "Kontoinhaber")                                              \
    X(IBAN, "IBAN", "IBAN")                                                                        \
    X(BIC, "BIC", "BIC")                                                                           \
    X(PAY_REFERENCE, "Reference", "Verwendungszweck")                                              \
    X(DETAILS, "Charges in detail", "Einzelposten")                                                \
    X(CORRECTIONS, "Corrections of earlier months", "Korrekturen fr\u00fcherer Monate")            \
    X(OF_INVOICE, "invoice %s", "Rechnung %s")                                                     \
    X(NOT_INVOICED, "not invoiced before", "bisher nicht berechnet")                               \
    X(ALL_ZONES, "All volume zones together", "Alle Volumen-Zonen zusammen")                       \
    X(WHOLE_ACCOUNT, "Account", "Konto")                                                           \
    X(ZONE, "zone %s", "Zone %s")                                                                  \
    X(ZONE_ALONE, "Zone %s", "Zone %s")                                                            \
    X(BALANCER, "Load balancer %s", "Load Balancer %s")                                            \
    X(IN_ZONES, "%s zones", "%s Zonen")                                                            \
    X(IN_BALANCERS, "%s load balancers", "%s Load Balancer")                                       \
    X(KIND_BANDWIDTH, "Bandwidth", "Datenverkehr")                                                 \
    X(KIND_VOLUME, "Volume bandwidth", "Volumen-Datenverkehr")                                     \
    X(KIND_OVERRIDE, "Bandwidth at its own price", "Datenverkehr zum eigenen Preis")               \
    X(KIND_PERCENTILE, "Bandwidth at a percentile", "Datenverkehr nach Perzentil")                 \
    X(KIND_OPTIMIZER, "Optimizer", "Optimizer")                                                    \
    X(KIND_BALANCER_FEE, "Load balancer, monthly fee", "Load Balancer, Monatsgeb\u00fchr")         \
    X(KIND_BALANCER_REQUESTS, "Load balancer, requests", "Load Balancer, Anfragen")                \
    X(KIND_METER, "Metered usage", "Gemessene Nutzung")                                            \
    X(KIND_METER_MINIMUM, "minimum", "Mindestbetrag")                                              \
    X(KIND_FEE, "Recurring fee", "Wiederkehrende Geb\u00fchr")                                     \
    X(KIND_DISCOUNT, "Contract discount", "Vertragsrabatt")                                        \
    X(KIND_COMMIT, "Monthly commitment, shortfall", "Monatliche Mindestabnahme, Fehlbetrag")     \
    X(DISCOUNT_NOTE, "%s % of %s", "%s % von %s")                                                  \
    X(COMMIT_NOTE, "%s agreed for the month, less %s for usage",                                   \
      "%s f\u00fcr den Monat vereinbart, abz\u00fcglich %s f\u00fcr Nutzung")                         \
    X(KIND_MINIMUM, "Monthly minimum", "Monatlicher Mindestbetrag")                                \
    X(KIND_PERIOD, "Commitment of a period, shortfall", "Mindestabnahme eines Zeitraums, Fehlbetrag") \
    X(PERIOD_NOTE, "%s agreed for %s to %s, less %s for usage",                                      \
      "%s vereinbart f\u00fcr %s bis %s, abz\u00fcglich %s f\u00fcr Nutzung")                             \
    X(KIND_CAP, "Spending cap", "Ausgabengrenze")                                                  \
    X(CAP_REACHED, "Spending cap, reached at %s", "Ausgabengrenze, erreicht am %s")                \
    X(KIND_CHARGE, "One-off charge", "Einmaliger Betrag")                                          \
    X(KIND_CORRECTION, "Not charged before", "Zuvor nicht berechnet")                              \
    X(MINIMUM_NOTE, "whole for any month with an active zone, not prorated by days",               \
      "voll f\u00fcr jeden Monat mit einer aktiven Zone, nicht nach Tagen anteilig")               \
    X(REGION_EU, "Europe", "Europa")                                                               \
    X(REGION_NA, "North America", "Nordamerika")                                                   \
    X(REGION_ASIA, "Asia", "Asien")                                                                \
    X(REGION_SA, "South America", "S\u00fcdamerika")                                               \
    X(REGION_AF, "Africa", "Afrika")                                                               \
    X(LIST_PRICE, "list price %s", "Listenpreis %s")                                               \
    X(INCLUDED, "included", "inklusive")                                                           \
    X(FIRST, "first %s", "die ersten %s")                                                          \
    X(OVER, "over %s", "\u00fcber %s")                                                             \
    X(BETWEEN, "%s to %s", "%s bis %s")                                                            \
    X(FLAT, "plus %s flat", "zuz\u00fcglich %s pauschal")                                            \
    X(PER_GB, "per GB", "je GB")                                                                   \
    X(PER_MILLION, "per million requests", "je Mio. Anfragen")                                     \
    X(PER_MONTH, "per month", "je Monat")                                                          \
    X(PER_YEAR, "per year", "je Jahr")                                                             \
    X(PER_BLOCK, "per block", "je Block")                                                          \
    X(PER, "per %s", "je %s")                                                                      \
    X(INTERVAL, "billed interval: %s to %s", "berechnetes Intervall: %s bis %s")                                                          \
    X(MILLION_REQUESTS, "million requests", "Mio. Anfragen")                                       \
    X(REQUEST, "request", "Anfrage")                                                               \
    X(REQUESTS, "requests", "Anfragen")                                                            \
    X(MONTH, "month", "Monat")                                                                     \
    X(MONTHS, "months", "Monate")                                                                  \
    X(DAY, "day", "Tag")                                                                           \
    X(DAYS, "days", "Tage")                                                                        \
    X(DAYS_WITHIN, "days", "Tagen")                                                                \
    X(DAY_OF, "day of", "Tag von")                                                     \
    X(DAYS_OF, "days of", "Tage von")                                                  \
    X(HOUR, "hour", "Stunde")                                                                      \
    X(HOURS, "hours", "Stunden")                                                                   \
    X(MINUTE, "minute", "Minute")                                                                  \
    X(MINUTES, "minutes", "Minuten")                                                               \
    X(SECOND, "second", "Sekunde")                                                                 \
    X(SECONDS, "seconds", "Sekunden")                                                              \
    X(FINGERPRINT, "Fingerprint %s", "Pr\u00fcfsumme %s")                                          \
    X(PROOF, "Check this document yourself", "Dieses Dokument selbst pr\u00fcfen")                       \
    X(PROOF_ENTRY, "Log of documents %s, entry %s, checkpoint %s",                                 \
      "Protokoll der Dokumente %s, Eintrag %s, Pr\u00fcfpunkt %s")                                  \
    X(PAGE_OF, "Page %s of %s", "Seite %s von %s")                                                 \
    X(AUDITOR, "For auditors", "F\u00fcr die Pr\u00fcfung")                                        \
    X(EXACT_SUM, "Exact sum of the lines", "Exakte Summe der Posten")                              \
    X(RESIDUAL, "Subtotal less exact sum", "Zwischensumme abz\u00fcglich exakter Summe")           \
    X(WATERMARK, "Data version (watermark)", "Datenstand (Wasserzeichen)")                         \
    X(BOOK, "Price book", "Preisbuch")                                                             \
    X(FROM_TIME, "from %s", "ab %s")                                                               \
    X(THIS_SHA256, "SHA-256 of this document", "SHA-256 dieses Dokuments")                         \
    X(PREVIOUS_SHA256, "SHA-256 of the one before it", "SHA-256 des Vorg\u00e4ngers")              \
    X(LEDGER, "Ledger, entries before it", "Hauptbuch, Eintr\u00e4ge davor")                       \
    X(LEDGER_HEAD, "Ledger, hash of the last one", "Hauptbuch, Hash des letzten")                  \
    X(REASON_CODE, "Reason of no tax, code", "Grund der Steuerfreiheit, Code")                     \
    X(EXACT_LINES, "Exact amounts and evidence", "Exakte Betr\u00e4ge und Nachweise")              \
    X(EXACT, "Exact amount", "Exakter Betrag")                                                     \
    X(UNITS, "Units", "Einheiten")                                                                 \
    X(RESOURCE, "Resource", "Ressource")                                                           \
    X(EVIDENCE, "%s to %s, %s buckets, hash %s", "%s bis %s, %s Buckets, Hash %s")                 \
    X(UNIT_BYTE, "bytes", "Bytes")                                                                 \
    X(CURRENCY, "Currency", "W\u00e4hrung")                                                        \
    X(ACCOUNT_STATEMENT, "Statement of account", "Kontoauszug")                                    \
    X(ENTRIES, "Entries", "Buchungen")                                                             \
    X(DATE, "Date", "Datum")                                                                       \
    X(BALANCE, "Balance", "Saldo")                                                                 \
    X(OPENING, "Opening balance", "Anfangssaldo")                                                  \
    X(CLOSING, "Closing balance", "Endsaldo")                                                      \
    X(HERO_OPEN, "Open amount on %s", "Offener Betrag am %s")                                      \
    X(HERO_FAVOUR, "In your favour on %s", "Zu Ihren Gunsten am %s")                               \
    X(VOIDED, "Made void:", "Storniert:")                                                          \
    X(PAID_IN, "Payment", "Zahlung")                                                               \
    X(ADJUSTED, "Adjustment", "Berichtigung")                                                      \
    X(CARRIED, "Balance carried forward", "Saldovortrag")                                          \
    X(USED, "Usage so far", "Verbrauch bis heute")                                                 \
    X(USED_BACK, "Usage, now on its invoice", "Verbrauch, nun berechnet")                          \
    X(CREDIT_GRANTED, "Credit", "Guthaben")                                                        \
    X(CREDIT_UNTIL, "Credit, valid until %s", "Guthaben, g\u00fcltig bis %s")                       \
    X(CREDIT_USED, "Credit used (%s):", "Guthaben verwendet (%s):")                                \
    X(CREDIT_BACK, "Credit given back (%s):", "Guthaben zur\u00fcckgegeben (%s):")                  \
    X(CREDIT_EXPIRED, "Credit expired", "Guthaben verfallen")                                      \
    X(JANUARY, "January", "Januar")                                                                \
    X(FEBRUARY, "February", "Februar")                                                             \
    X(MARCH, "March", "M\u00e4rz")                                                                 \
    X(APRIL, "April", "April")                                                                     \
    X(MAY, "May", "Mai")                                                                           \
    X(JUNE, "June", "Juni")                                                                        \
    X(JULY, "July", "Juli")                                                                        \
    X(AUGUST, "August", "August")                                                                  \
    X(SEPTEMBER, "September", "September")                                                         \
    X(OCTOBER, "October", "Oktober")                                                               \
    X(NOVEMBER, "November", "November")                                                            \
    X(DECEMBER, "December", "Dezember")

typedef enum tb__word {
#define TB_X(e, english, german) TB__WORD_##e,
    TB__WORDS(TB_X)
#undef TB_X
        TB__WORD_COUNT
} tb__word;

/* %s is replaced by the arguments, in this order. Static. */
const char *tb__word_of(tb__language language, tb__word word);
void tb__add_word(tb_buf *out, tb__language language, tb__word word);
/* The word with its %s replaced, one argument each. */
void tb__add_filled(tb_buf *out, tb__language language, tb__word word, const char *const *with);
/* "Germany" of "DE"; the code where the table does not have it. Static, or code. */
const char *tb__country_name(tb__language language, const char *code);

#endif
