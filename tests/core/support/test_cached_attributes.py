"""Attributes that are computed when first read."""

from agnesi.core.support.cached_attributes import cached_property


def test_cached_properties_are_computed_once():
    class Circle:
        computed = 0

        @cached_property
        def area(self):
            """Its area."""
            self.computed += 1
            return 3.0

    circle = Circle()
    assert (circle.area, circle.area, circle.computed) == (3.0, 3.0, 1)
    assert Circle.area.__doc__ == "Its area."
