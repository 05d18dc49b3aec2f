// Chakra's files of every schema, byte by byte, and the other forms, small and made up.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "converters/converter.h"
#include "synthetic_capture.h"

namespace reprise::chakra {

// A protobuf message in the making.
class Wire {
 public:
  Wire& Number(std::uint32_t field, std::uint64_t value);
  Wire& Text(std::uint32_t field, std::string_view value);
  Wire& Message(std::uint32_t field, const Wire& value) { return Text(field, value.bytes_); }
  Wire& Float(std::uint32_t field, float value);
  Wire& Packed(std::uint32_t field, std::initializer_list<std::uint64_t> values);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // With its length before it, as in a file.
  [[nodiscard]] std::string Framed() const;

 private:
  void Varint(std::uint64_t value);
  std::string bytes_;
};

// Attributes of 0.0.4 and of 0.0.3.
Wire IntAttribute(std::string_view name, std::int64_t value);
Wire BoolAttribute(std::string_view name, bool value);
Wire TextAttribute(std::string_view name, std::string_view value);
Wire OldIntAttribute(std::string_view name, std::int64_t value);

// One file of each: two operations and an all_reduce of 1024 bytes that waits for the second.
std::string First();   // 0.0.1
std::string Second();  // 0.0.2
std::string Third();   // 0.0.3
std::string Fourth();  // 0.0.4
std::string Jsonized();
std::string JsonNodes();  // {"nodes": […]}
std::string JsonArray();
std::string FeederJson();
// A host operation that launches two kernels, the second an all_reduce.
std::string Linked();

// `text` as the file DIRECTORY/FILE, converted to DIRECTORY/out.et, and loaded.
Result<pytorch::LoadedTrace> ConvertText(const std::string& test, const std::string& file,
                                         const std::string& text, ConvertReport* report = nullptr);

}  // namespace reprise::chakra
