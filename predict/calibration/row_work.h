// What a row of a table of kernels does, by its class: work by the operators' cost rules
// (core/costs), a collective's bytes, an expert layer's sizes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"
#include "predict/calibration/kernel_table.h"

namespace reprise {

// One row's fields by the names of its class (predict/calibration/table_columns.h).
class RowFields {
 public:
  virtual ~RowFields() = default;
  [[nodiscard]] virtual bool Has(const std::string& name) const = 0;
  [[nodiscard]] virtual std::string_view Text(const std::string& name) const = 0;
  // A whole number from 1 on; bad input with file and line for anything else.
  [[nodiscard]] virtual Result<std::int64_t> Size(const std::string& name) const = 0;
  // Bad input with file and line.
  [[nodiscard]] virtual tl::unexpected<Error> Wrong(const std::string& what) const = 0;
};

// All of a row but its time and line. Bad input: a field, sizes beyond all devices, an operation
// that is no collective with a size, a distribution that is none.
[[nodiscard]] Result<KernelRow> RowOf(TableClass of_class, DType dtype, const RowFields& fields);

[[nodiscard]] OpClass OpClassOf(TableClass of_class);

}  // namespace reprise
