// What References compute, against what PyTorch computed: pytorch_values.txt, by make_values.py.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "kernels/samples.h"
#include "kernels/tensor_access.h"
#include "tests/kernels/harness.h"

namespace reprise {
namespace {

struct Case {
  OpCall call;
  std::map<std::int64_t, std::vector<double>> given;  // by incarnation
  std::vector<std::pair<TensorDesc, std::vector<double>>> expected;
};

// "1 nan -2.5" up to the end of the line.
std::vector<double> NumbersIn(std::istream& line) {
  std::vector<double> numbers;
  for (std::string word; line >> word;) {
    if (word != ":") {
      numbers.push_back(std::strtod(word.c_str(), nullptr));
    }
  }
  return numbers;
}

std::vector<std::int64_t> ShapeOf(const std::string& text) {
  std::vector<std::int64_t> shape;
  std::istringstream parts(text == "-" ? "" : text);
  for (std::string part; std::getline(parts, part, ',');) {
    shape.push_back(std::stoll(part));
  }
  return shape;
}

class Reader {
 public:
  explicit Reader(std::istream& file) : file_(file) {}

  bool Next(Case& next) {
    std::string keyword;
    std::size_t arguments = 0;
    std::size_t results = 0;
    if (!(file_ >> keyword)) {
      return false;
    }
    EXPECT_EQ(keyword, "case");
    next = {};
    tensors_ = {};
    file_ >> next.call.name >> arguments >> results;
    file_.ignore();
    for (std::size_t i = 0; i < arguments; ++i) {
      next.call.inputs.push_back(ReadArgument(next));
    }
    for (std::size_t i = 0; i < results; ++i) {
      next.call.outputs.push_back(ReadResult(next));
    }
    return true;
  }

 private:
  std::istringstream Line() {
    std::string line;
    std::getline(file_, line);
    return std::istringstream(line);
  }
  // "float32 2,3 : 1 2 3 4 5 6"
  TensorDesc ReadTensor(std::istream& line, std::vector<double>& values) {
    std::string dtype;
    std::string shape;
    line >> dtype >> shape;
    values = NumbersIn(line);
    return tensors_.Tensor(ParseDType(dtype), ShapeOf(shape));
  }
  Value ReadArgument(Case& next) {
    std::istringstream line = Line();
    std::string kind;
    std::string word;
    line >> kind;
    if (kind == "tensor") {
      std::vector<double> values;
      const TensorDesc tensor = ReadTensor(line, values);
      next.given[tensor.incarnation] = values;
      return Value{tensor};
    }
    line >> word;
    if (kind == "list") {
      ValueList list;
      for (int i = std::stoi(word); i > 0; --i) {
        list.push_back(ReadArgument(next));
      }
      return Value{list};
    }
    return kind == "int"    ? samples::Int(std::stoll(word))
           : kind == "real" ? samples::Double(std::strtod(word.c_str(), nullptr))
           : kind == "bool" ? samples::Bool(word == "1")
           : kind == "text" ? samples::Text(word)
                            : samples::None();
  }
  Value ReadResult(Case& next) {
    std::istringstream line = Line();
    std::string kind;
    line >> kind;
    if (kind == "none") {
      return samples::None();
    }
    std::vector<double> values;
    std::size_t argument = 0;
    if (kind == "same") {
      line >> argument;
      next.expected.emplace_back(*next.call.InputTensor(argument), NumbersIn(line));
    } else {
      const TensorDesc tensor = ReadTensor(line, values);
      next.expected.emplace_back(tensor, values);
    }
    return Value{next.expected.back().first};
  }

  std::istream& file_;
  samples::SampleTensors tensors_;
};

void ExpectClose(double actual, double expected, DType dtype) {
  if (std::isnan(expected) || std::isinf(expected)) {
    EXPECT_EQ(std::isnan(actual), std::isnan(expected));
    EXPECT_TRUE(std::isnan(expected) || actual == expected) << actual;
    return;
  }
  const double unit = dtype == DType::kFloat16 ? 1e-3 : 2e-6;
  EXPECT_NEAR(actual, expected, unit + unit * std::fabs(expected));
}

void Check(const Case& next) {
  SCOPED_TRACE(Describe(next.call));
  const Kernel* kernel = KernelRegistry::Builtin().Find(next.call);
  ASSERT_NE(kernel, nullptr);
  CallMemory memory(next.call);
  for (const auto& [incarnation, values] : next.given) {
    CallMemory::Storage& storage = memory.storages.at(incarnation);
    for (std::size_t i = 0; i < values.size(); ++i) {
      StoreDouble(storage.bytes.data(), storage.dtype, static_cast<std::int64_t>(i), values[i]);
    }
  }
  const Status status = kernel->Reference(next.call, memory);
  ASSERT_TRUE(status) << status.error().message;
  for (const auto& [tensor, values] : next.expected) {
    const auto bytes = memory.Find(tensor.incarnation);
    ASSERT_EQ(ElementCount(tensor.shape), static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectClose(LoadDouble(bytes.data(), tensor.dtype, static_cast<std::int64_t>(i)), values[i],
                  tensor.dtype);
    }
  }
}

TEST(PyTorchValues, ReferencesComputeTheSame) {
  std::ifstream file(REPRISE_SOURCE_DIR "/tests/kernels/pytorch_values.txt");
  Reader reader(file);
  int cases = 0;
  for (Case next; reader.Next(next); ++cases) {
    Check(next);
  }
  EXPECT_GT(cases, 50);
}

}  // namespace
}  // namespace reprise
