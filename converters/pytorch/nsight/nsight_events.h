// Rows of an export's tables, as events of a Kineto file (nsight_text.h has the rules).
#pragma once

#include <cstdint>
#include <memory>

#include "converters/pytorch/kineto/event_list.h"
#include "converters/pytorch/nsight/nsight_file.h"
#include "converters/pytorch/nsight/nsight_tables.h"
#include "core/result.h"

namespace reprise::pytorch {

class NsightEvents {
 public:
  virtual ~NsightEvents() = default;
  NsightEvents() = default;
  NsightEvents(const NsightEvents&) = delete;
  NsightEvents& operator=(const NsightEvents&) = delete;

  // Reads the next row, which becomes one event, several, or none. False: there is none. Bad input
  // names the table and the row.
  [[nodiscard]] virtual Result<bool> Append() = 0;
};

// Of one process ("globalPid"; -1: the export has no such numbers). All must outlive it.
[[nodiscard]] Result<std::unique_ptr<NsightEvents>> ReadNsightEvents(NsightTables& tables,
                                                                     const NsightFile& file,
                                                                     std::int64_t process,
                                                                     EventList& events);

}  // namespace reprise::pytorch
