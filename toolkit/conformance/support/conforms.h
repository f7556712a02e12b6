// SPDX-License-Identifier: Apache-2.0
// How a conformance test is written: one macro that registers the test and its
// cell in the report matrix (function x {success, errors, null, zero, sticky}).
#pragma once

#include "support/musa.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace conformance {

// Every test starts without a pending error on device 0 and must leave the
// device idle and healthy.
class Fixture : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
};

// A function of the API under test. `errors` lists the documented error codes
// (without their prefix, space separated); a reason instead of nullptr says why
// a cell stays empty.
struct Row {
  const char* function;
  const char* errors;
  const char* no_success;
  const char* no_null;
  const char* no_zero;
  const char* no_sticky;
};

struct Cell {
  std::string function;
  std::string column;
  std::string test; // suite.name
};

// The rows of the executable's library; each one defines it once.
const std::vector<Row>& rows();

// Names of the public functions declared by the headers under test.
std::vector<std::string> header_functions();

std::vector<Cell>& cells();

using Factory = std::function<Fixture*()>;
bool add_test(
    const char* suite,
    const std::string& name,
    const char* file,
    int line,
    const Factory& factory);
bool add_conforming(
    const char* function,
    const char* column,
    const std::string& behaviour,
    const char* file,
    int line,
    const Factory& factory);
bool add_cell(
    const char* function,
    const char* column,
    const char* suite,
    const char* name);

// Opens the named text file of the headers under test; empty when missing.
std::string read_header(const std::string& relative);

// Source text without comments and preprocessor lines.
std::string strip_comments(const std::string& text);

} // namespace conformance

#define CONFORMANCE_CLASS_(suite, name) Conforms_##suite##_##name

#define CONFORMANCE_DECLARE_(suite, name)                                 \
  class CONFORMANCE_CLASS_(suite, name) : public ::conformance::Fixture { \
   public:                                                                \
    static ::conformance::Fixture* make() {                               \
      return new CONFORMANCE_CLASS_(suite, name);                         \
    }                                                                     \
    void TestBody() override;                                             \
  };

// CONFORMS(musaMalloc, zero, yields_null) { ... }: the cell `zero` of the row
// musaMalloc. A column is success, null, zero, sticky or an error's name.
#define CONFORMS(function, column, behaviour)                             \
  namespace {                                                             \
  CONFORMANCE_DECLARE_(function, column##_##behaviour)                    \
  [[maybe_unused]] const bool added_##function##_##column##_##behaviour = \
      ::conformance::add_conforming(                                      \
          #function,                                                      \
          #column,                                                        \
          #behaviour,                                                     \
          __FILE__,                                                       \
          __LINE__,                                                       \
          &CONFORMANCE_CLASS_(function, column##_##behaviour)::make);     \
  }                                                                       \
  void CONFORMANCE_CLASS_(function, column##_##behaviour)::TestBody()

// BEHAVES(stream, query_is_not_ready_while_task_runs) { ... }: a property that
// belongs to no single function.
#define BEHAVES(area, behaviour)                           \
  namespace {                                              \
  CONFORMANCE_DECLARE_(area, behaviour)                    \
  [[maybe_unused]] const bool added_##area##_##behaviour = \
      ::conformance::add_test(                             \
          #area,                                           \
          #behaviour,                                      \
          __FILE__,                                        \
          __LINE__,                                        \
          &CONFORMANCE_CLASS_(area, behaviour)::make);     \
  }                                                        \
  void CONFORMANCE_CLASS_(area, behaviour)::TestBody()

// A test that also fills another cell.
#define COVERS(function, column, suite, name)                         \
  namespace {                                                         \
  [[maybe_unused]] const bool                                         \
      covers_##function##_##column##_by_##suite##_##name =            \
          ::conformance::add_cell(#function, #column, #suite, #name); \
  }

#define EXPECT_MUSA(expected, call) \
  EXPECT_EQ(::conformance::code_name(expected), ::conformance::code_name(call))
#define ASSERT_MUSA(call)                    \
  ASSERT_EQ(                                 \
      ::conformance::code_name(musaSuccess), \
      ::conformance::code_name(call))
#define EXPECT_OK(call) EXPECT_MUSA(musaSuccess, call)

// The call fails with the code, which is then the thread's last error, once.
#define EXPECT_FAILS(code, call)                  \
  do {                                            \
    (void)musaGetLastError();                     \
    EXPECT_MUSA(code, call);                      \
    EXPECT_MUSA(code, musaPeekAtLastError());     \
    EXPECT_MUSA(code, musaGetLastError());        \
    EXPECT_MUSA(musaSuccess, musaGetLastError()); \
  } while (false)
