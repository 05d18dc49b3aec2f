// A loop over a reader's items, to its end.
#pragma once

#include "core/result.h"

namespace reprise {

// `reader` has Result<bool> Next(Item&), false at its end. Calls visit(item), which returns a
// Status, for each.
template <typename Item, typename Reader, typename Visit>
[[nodiscard]] Status ForEachRead(Reader& reader, const Visit& visit) {
  Item item{};
  while (true) {
    REPRISE_ASSIGN(const bool more, reader.Next(item));
    if (!more) {
      return {};
    }
    REPRISE_TRY(visit(item));
  }
}

}  // namespace reprise
