-- What a run lacks, said once a paragraph: sentences whose numbers are not part of the run give way to one remark.
--
-- Both routes use it, on paragraphs whose numbers are filled in. Captions stay, since figures and tables are referred to.
-- The words are those of src/compendium/site/pictures.py.

local MISSING = "not part of this run"
local ALL = "Not part of this run."
local REST = "The other numbers of this paragraph are not part of this run."

local function ends_sentence(inline, following)
  local parted = following == nil or following.t == "Space" or following.t == "SoftBreak"
  return parted and inline.t == "Str" and inline.text:match("[.?!]%)?$") ~= nil
end

local function sentences(inlines)
  local found, current = {}, pandoc.Inlines({})
  for place, inline in ipairs(inlines) do
    local leading = #current == 0 and (inline.t == "Space" or inline.t == "SoftBreak")
    if not leading then
      current:insert(inline)
    end
    if not leading and ends_sentence(inline, inlines[place + 1]) then
      table.insert(found, current)
      current = pandoc.Inlines({})
    end
  end
  if #current > 0 then
    table.insert(found, current)
  end
  return found
end

local function without_gaps(block)
  if not pandoc.utils.stringify(block):find(MISSING, 1, true) then
    return nil
  end
  local kept = pandoc.Inlines({})
  for _, sentence in ipairs(sentences(block.content)) do
    if not pandoc.utils.stringify(sentence):find(MISSING, 1, true) then
      kept:extend(sentence)
      kept:insert(pandoc.Space())
    end
  end
  kept:insert(pandoc.Emph(pandoc.Inlines(#kept == 0 and ALL or REST)))
  block.content = kept
  return block, false
end

local function is_float(div)
  local kind = div.identifier:match("^(%a+)-")
  return kind == "fig" or kind == "tbl"
end

local function once(list)
  local kept, before = {}, nil
  for _, item in ipairs(list.content) do
    local text = pandoc.utils.stringify(item)
    if text ~= ALL or before ~= ALL then
      table.insert(kept, item)
    end
    before = text
  end
  list.content = kept
  return list
end

return {
  {
    traverse = "topdown",
    Div = function(div)
      if is_float(div) then
        return div, false
      end
    end,
    Table = function(element)
      return element, false
    end,
    Para = without_gaps,
    Plain = without_gaps,
  },
  { BulletList = once },
}
