"""Writes the countries of iso-codes as JSON inside a C file: what GET /country answers.

    countries.py /usr/share/iso-codes/json/iso_3166-1.json countries_json.c

Names and codes are the list's; the members of the European Union stand here, as of 2020.
"""
import json
import sys

from literal import write

EU = set("AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split())


def country(row):
    code = row["alpha_2"]
    return {"Name": row.get("common_name", row["name"]), "IsoCode": code, "IsEU": code in EU,
            "TaxPrefix": None, "FlagUrl": None, "PopList": None}


def main(source, target):
    with open(source, encoding="utf-8") as file:
        rows = json.load(file)["3166-1"]
    found = sorted(map(country, rows), key=lambda row: row["IsoCode"])
    write(found, target, "countries_json", "iso-codes by server/api/countries.py")


if len(sys.argv) != 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
