// Columns for people.
#pragma once

#include <string>
#include <vector>

namespace sluice::app {

class text_table {
public:
    explicit text_table(std::vector<std::string> head) : x_rows{std::move(head)} {}

    /// As many cells as the head has.
    void add(std::vector<std::string> row) { x_rows.push_back(std::move(row)); }
    /// Every column as wide as its longest cell, two spaces between.
    std::string text() const;

private:
    std::vector<std::vector<std::string>> x_rows;
};

}  // namespace sluice::app
