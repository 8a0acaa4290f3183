"""Public names of the room."""

from unveil.tables.preparation import prepare as prepare
from unveil.tables.prepared import Prepared as Prepared
from unveil.tables.recipe import ColumnRecipe as ColumnRecipe
from unveil.tables.recipe import Recipe as Recipe
from unveil.tables.roles.role import ROLES as ROLES
from unveil.tables.roles.role import ColumnRole as ColumnRole
from unveil.tables.survey import ColumnSurvey as ColumnSurvey
from unveil.tables.table import Table as Table
from unveil.tables.table import open_table as open_table
