// Rows of one list at the end of another. Only report/ sees this.
#pragma once

#include <iterator>
#include <vector>

namespace reprise {

template <typename Row>
void Append(std::vector<Row> rows, std::vector<Row>& to) {
  to.insert(to.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
}

}  // namespace reprise
