// Arguments of a node in three forms: plain values (core/value.h), Chakra's text (IOInfo), and a
// compact tape, which is what a Graph keeps. Only et_schema sees this.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"
#include "et_schema/raw_node.h"
#include "et_schema/wire_buffer.h"

namespace reprise {

// Inputs and outputs of one node. `form` has everything that repeats between calls (types, shapes,
// strides, devices, scalars) and is worth interning; `ids` has what hardly ever does: tensor id,
// storage id, incarnation and offset of each tensor. Private to this process, never in files.
struct ArgTape {
  WireBuffer form, ids;
  void Clear() {
    form.clear();
    ids.clear();
  }
};

void EncodeArgs(const ValueList& inputs, const ValueList& outputs, ArgTape& tape);
// False if the tape is damaged.
[[nodiscard]] bool DecodeArgs(std::string_view form, std::string_view ids, ValueList& inputs,
                              ValueList& outputs);
[[nodiscard]] inline bool DecodeArgs(const ArgTape& tape, ValueList& inputs, ValueList& outputs) {
  return DecodeArgs(tape.form.bytes(), tape.ids.bytes(), inputs, outputs);
}

// The text form. What Chakra has no place for goes into two attributes (docs/et_format.md).
struct IoText {
  std::string values, shapes, types;
};
struct ArgText {
  IoText inputs, outputs;
  std::vector<std::int64_t> incarnations;  // one per tensor, inputs first
  std::vector<std::int64_t> strides;       // (tensor, count, strides…) where not contiguous
};
// In the memory of another text, which is gone then.
void FormatArgs(const ValueList& inputs, const ValueList& outputs, ArgText& text);

// What was odd in a text but did not stop its parsing.
struct ArgProblems {
  std::uint32_t type_mismatch = 0;  // a value that does not match `types`
  std::uint32_t untyped = 0;        // a value without an entry in `types`
  std::uint32_t unknown_dtype = 0;
  std::uint32_t out_of_range = 0;  // integers beyond 64 bits: clamped
  std::uint32_t invalid_utf8 = 0;  // replaced
  bool operator==(const ArgProblems&) const = default;
};
class ArgParser;

// Text → tape. Keeps what it learned from (types, shapes), which are the same in call after call.
class ArgTextParser {
 public:
  ArgTextParser();
  ~ArgTextParser();
  ArgTextParser(const ArgTextParser&) = delete;
  ArgTextParser& operator=(const ArgTextParser&) = delete;

  // False if a text is not a list of Python literals; the tape is then that of a node without
  // arguments. Where `incarnations` is empty (foreign files), a tensor's storage id serves as one.
  [[nodiscard]] bool Parse(const RawIo& inputs, const RawIo& outputs,
                           std::span<const std::int64_t> incarnations,
                           std::span<const std::int64_t> strides, ArgTape& tape,
                           ArgProblems& problems);

 private:
  std::unique_ptr<ArgParser> parser_;
};

}  // namespace reprise
