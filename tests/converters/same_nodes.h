// Host nodes, field by field.
#pragma once

#include <algorithm>
#include <cmath>

#include "converters/pytorch/host/host_trace.h"

namespace reprise::pytorch {

// As ==, but that NaN is NaN.
inline bool Same(const Value& a, const Value& b) {
  const auto* x = std::get_if<double>(&a.data);
  const auto* y = std::get_if<double>(&b.data);
  if (x != nullptr && y != nullptr) {
    return std::isnan(*x) ? std::isnan(*y) : *x == *y && std::signbit(*x) == std::signbit(*y);
  }
  const ValueList* list = a.AsList();
  const ValueList* other = b.AsList();
  if (list != nullptr && other != nullptr) {
    return std::equal(list->begin(), list->end(), other->begin(), other->end(),
                      [](const Value& c, const Value& d) { return Same(c, d); });
  }
  return a == b;
}

inline bool Same(const CommAttributes& a, const CommAttributes& b) {
  return a.collective == b.collective && a.dtype == b.dtype && a.group_name == b.group_name &&
         a.group_description == b.group_description && a.in_elements == b.in_elements &&
         a.out_elements == b.out_elements && a.in_splits == b.in_splits &&
         a.out_splits == b.out_splits && a.group_size == b.group_size && a.async == b.async;
}

inline bool Same(const HostNode& a, const HostNode& b) {
  const bool comm = a.comm != nullptr && b.comm != nullptr ? Same(*a.comm, *b.comm)
                                                           : a.comm == nullptr && b.comm == nullptr;
  return comm && a.id == b.id && a.caller == b.caller && a.rf_id == b.rf_id &&
         a.seq_id == b.seq_id && a.thread == b.thread && a.forward_thread == b.forward_thread &&
         a.scope == b.scope && *a.name == *b.name && *a.op_schema == *b.op_schema &&
         Same(Value{a.inputs}, Value{b.inputs}) && Same(Value{a.outputs}, Value{b.outputs});
}

}  // namespace reprise::pytorch
