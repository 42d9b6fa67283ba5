// The draft of an account's month as CSV, in C++: what its invoice would say now.
//
//   c++ -std=c++17 draft.cpp $(pkg-config --cflags --libs tollbook) -o draft
//   ./draft tollbook.db 1 2026-10

#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include <tollbook/tollbook.h>

namespace {

// A call that failed is an exception with the library's sentence.
void check(tb_code code, const tb_error &err)
{
    if (code != TB_OK) throw std::runtime_error(err.message);
}

std::string draft(tb_store *store, std::int64_t account, std::int64_t month, std::int64_t now_us)
{
    tb_error err;
    tb_month_books books;
    check(tb_store_read_begin(store, &err), err); // one snapshot, until the store is closed
    check(tb_month_books_read(store, &books, &err), err);
    std::unique_ptr<tb_month_books, void (*)(tb_month_books *)> owned(&books,
                                                                      tb_month_books_release);
    tb_issue issue;
    check(tb_issue_draft(store, account, month, &books, now_us, &issue, &err), err);
    std::unique_ptr<tb_issue, void (*)(tb_issue *)> made(&issue, tb_issue_release);
    tb_buf out;
    tb_buf_init(&out, TB_INVOICE_TEXT_MAX, nullptr);
    std::unique_ptr<tb_buf, void (*)(tb_buf *)> bytes(&out, tb_buf_release);
    tb_invoice_csv_head(&out);
    tb_invoice_csv(&issue.statement, &out);
    check(tb_buf_check(&out, &err), err);
    return std::string(out.data, out.len);
}

} // namespace

int main(int argc, char **argv)
try {
    const std::int64_t now_us = std::int64_t(std::time(nullptr)) * TB_US_PER_S;
    std::int64_t month = tb_month_from_us(now_us);
    const std::string given = argc > 3 ? argv[3] : "";
    if (argc < 2 || (argc > 3 && !tb_month_parse(given.data(), given.size(), &month)))
        throw std::runtime_error("usage: draft DB [ACCOUNT [MONTH]]");
    tb_error err;
    tb_store *opened = nullptr;
    check(tb_store_open(argv[1], nullptr, &opened, &err), err);
    std::unique_ptr<tb_store, void (*)(tb_store *)> store(opened, tb_store_close);
    std::cout << draft(store.get(), argc > 2 ? std::atoll(argv[2]) : 1, month, now_us);
} catch (const std::exception &e) {
    std::cerr << "draft: " << e.what() << '\n';
    return 2;
}
