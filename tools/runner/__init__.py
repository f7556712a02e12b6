# SPDX-License-Identifier: Apache-2.0
"""What ./run does, standard library only."""
